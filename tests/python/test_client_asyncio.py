"""The Python client for asyncio. Its logic is that of the one for threads: here is what the other world could get wrong."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any, Coroutine

from scripted import HOSTILE, NOTHING, ProcessTest, Reply, Script, ScriptedTest, at, wire

import booblik
from booblik import Ack, ConnectionOptions, ConsumerOptions, ProducerOptions, aio


def run(work: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await work
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks were left behind: {left}"

    asyncio.run(bounded(), debug=False)


class WithBroker(ProcessTest):
    def test_tasks_share_one_connection_and_each_gets_its_own_answers(self) -> None:
        broker = self.serve("a:1")

        async def work() -> None:
            async with aio.Connection(at(broker), ConnectionOptions(in_flight_max=16)) as connection:

                async def one(task: int) -> list[int]:
                    sent = [await connection.send(booblik.Produce("a", 0, [b"%d %d" % (task, i)])) for i in range(30)]
                    return [produced.base_offset for produced in await asyncio.gather(*sent) if produced is not None]

                told = await asyncio.gather(*map(one, range(30)))
            with broker.connect() as reader:
                stored = reader.read_all("a")
            self.assertEqual(len(stored), 900)
            for task, offsets in enumerate(told):
                self.assertEqual([stored[offset] for offset in offsets], [b"%d %d" % (task, i) for i in range(30)])

        run(work())

    def test_producer_and_consumer(self) -> None:
        broker = self.serve("orders:3", segment_capacity_bytes=4096)

        async def work() -> None:
            async with aio.Producer(at(broker), ProducerOptions("orders", linger=0.0)) as producer:
                sent = [await producer.send(b"value %d" % index, key=b"%d" % index) for index in range(1000)]
                await producer.flush()
                told = [future.result() for future in sent]
                refused = await producer.send(b"x" * 5000, partition=0)
                with self.assertRaises(booblik.DeliveryFailed):
                    await producer.flush()
                self.assertIsInstance(refused.exception(), booblik.Refused)
                self.assertEqual(producer.counts, booblik.Counts(delivered=1000, refused=1))
            for partition in range(3):
                async with aio.Consumer(at(broker), ConsumerOptions("orders", partition)) as consumer:
                    got = [record async for batch in consumer.replay() for record in batch.records]
                expected = [(one.offset, b"value %d" % i) for i, one in enumerate(told) if one.partition == partition]
                self.assertEqual([(record.offset, record.payload) for record in got], expected)

        run(work())

    def test_a_topic_that_does_not_exist_leaves_nothing_behind(self) -> None:
        broker = self.serve("a:1")

        async def work() -> None:
            with self.assertRaises(booblik.Refused):
                async with aio.Producer(at(broker), "no.such.topic"):
                    self.fail("it was opened")
            async with aio.Consumer(at(broker), "no.such.topic") as consumer:
                with self.assertRaises(booblik.Refused):
                    await consumer.poll()

        run(work())

    def test_a_follower_sees_what_others_produce_and_ends_when_it_is_closed(self) -> None:
        broker = self.serve("a:1")

        async def work() -> None:
            consumer = aio.Consumer(at(broker), "a")
            seen: asyncio.Queue[booblik.Record] = asyncio.Queue()

            async def follow() -> None:
                async for batch in consumer.follow():
                    for record in batch.records:
                        seen.put_nowait(record)

            follower = asyncio.create_task(follow())
            async with aio.Producer(at(broker), ProducerOptions("a", ack=Ack.NONE)) as producer:
                for index in range(20):
                    await producer.send(b"%d" % index)
            self.assertEqual([(await seen.get()).payload for _ in range(20)], [b"%d" % index for index in range(20)])
            await consumer.close()
            await follower

        run(work())

    def test_a_producer_survives_a_restart_of_the_broker(self) -> None:
        first = self.serve("a:1")

        async def work() -> None:
            async with aio.Producer(at(first), ProducerOptions("a", linger=0.0, batch_records=5)) as producer:
                outcomes = [await producer.send(b"%d" % index) for index in range(100)]
                await producer.flush()
                await asyncio.to_thread(first.kill)
                outcomes += [await producer.send(b"%d" % index) for index in range(100, 200)]
                await asyncio.sleep(0)
                second = await asyncio.to_thread(self.serve, "a:1", port=first.port)
                try:
                    await producer.flush()
                except booblik.DeliveryFailed as error:
                    self.assertIsInstance(error.first, booblik.OutcomeUnknown)
                self.assertTrue(all(one.done() for one in outcomes))
            with second.connect() as reader:
                stored = reader.read_all("a")
            self.assertEqual(len(set(stored)), len(stored), "a record is there twice")
            for index, future in enumerate(outcomes):
                if future.exception() is None:
                    offset = future.result().offset
                    assert offset is not None
                    self.assertEqual(stored[offset], b"%d" % index)

        run(work())


class WithAScriptedBroker(ScriptedTest):
    def test_what_the_protocol_does_not_allow_is_not_believed(self) -> None:
        async def work(what: str, port: int) -> None:
            async with aio.Connection(f"127.0.0.1:{port}") as connection:
                if what == "an answer too many":
                    await connection.produce("single", 0, [b"x"])
                else:
                    with self.assertRaises(booblik.BadAnswer):
                        await connection.produce("single", 0, [b"x"])

        for what, mangle in HOSTILE.items():
            with self.subTest(what):
                run(work(what, self.scripted(Script(mangled=wire.PRODUCE, mangle=mangle)).port))

    def test_cut_answers_silence_and_nobody(self) -> None:
        async def work(port: int, kind: type[Exception]) -> None:
            options = ConnectionOptions(timeout=0.2)
            async with aio.Connection(f"127.0.0.1:{port}", options) as connection:
                with self.assertRaises(kind):
                    await connection.produce("single", 0, [b"x"])

        for reply, kind in ((Reply([b"\0\0\0"], then_end=True), booblik.ConnectionLost), (Reply(NOTHING), booblik.TimedOut)):
            broker = self.scripted(Script(mangled=wire.PRODUCE, mangle=lambda frame, reply=reply: reply))  # type: ignore[misc]
            run(work(broker.port, kind))
        gone = self.scripted(Script())
        gone.__exit__()
        run(work(gone.port, booblik.Unreachable))

    def test_a_caller_that_is_cancelled_leaves_the_connection_in_order(self) -> None:
        broker = self.scripted(Script(end=5))

        async def work() -> None:
            async with aio.Connection(at(broker)) as connection:
                cancelled = asyncio.create_task(connection.produce("single", 0, [b"x"]))
                await asyncio.sleep(0)
                cancelled.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await cancelled
                produced = await connection.produce("single", 0, [b"y", b"z"])
                self.assertEqual(produced, booblik.Produced(5, 7))
                answered = await connection.send(booblik.Metadata(["single"]))
                answered.cancel()
                self.assertEqual((await connection.metadata("conformance"))[0].name, "conformance")

        run(work())

    def test_a_full_buffer_makes_send_wait_without_stopping_the_loop(self) -> None:
        broker = self.scripted(Script())

        async def work() -> None:
            options = ProducerOptions("single", buffer_bytes=5000, linger=10.0)
            async with aio.Producer(at(broker), options) as producer:
                for _ in range(50):  # far more than the buffer holds, and long before the linger is over
                    await producer.send(b"x" * 1000)
                await producer.flush()
                self.assertEqual(producer.counts.delivered, 50)
            self.assertGreater(len(broker.of_kind(wire.PRODUCE)), 10)

        run(work())


if __name__ == "__main__":
    unittest.main()
