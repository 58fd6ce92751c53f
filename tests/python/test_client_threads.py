"""The Python client for threads, against the real broker and against one that misbehaves."""

from __future__ import annotations

import struct
import subprocess
import threading
import time
import unittest
from concurrent.futures import Future, ThreadPoolExecutor

from scripted import HOSTILE, LARGE, NOTHING, PROGRAM, ProcessTest, Reply, Script, ScriptedTest, at, wait_until, wire

import booblik
from booblik import Ack, Connection, ConnectionOptions, Consumer, ConsumerOptions, ErrorCode, FailedBatch
from booblik import FilePositionStore, Producer, ProducerOptions, Start

QUICK = ConnectionOptions(timeout=0.2, connect_timeout=5.0)


class WithBroker(ProcessTest):
    def test_threads_share_one_connection_and_each_gets_its_own_answers(self) -> None:
        broker = self.serve("orders:3,a:1")
        threads, requests = (50, 1000) if LARGE else (20, 50)
        with Connection(at(broker), ConnectionOptions(in_flight_max=64)) as connection:

            def work(thread: int) -> list[int]:
                payloads = [b"%d %d" % (thread, index) for index in range(requests)]
                sent = [connection.send(booblik.Produce("a", 0, [payload])) for payload in payloads]
                bases = [one.result(20) for one in sent]
                return [base.base_offset for base in bases if base is not None]

            with ThreadPoolExecutor(threads) as pool:
                told = list(pool.map(work, range(threads)))
            self.assertEqual(connection.metadata("a")[0].partitions[0].high_watermark, threads * requests)
        with broker.connect() as reader:
            stored = reader.read_all("a")
        for thread, offsets in enumerate(told):
            self.assertEqual([stored[offset] for offset in offsets], [b"%d %d" % (thread, i) for i in range(requests)])
        self.assertEqual(sorted(sum(told, [])), list(range(threads * requests)))

    def test_keys_and_turns_and_every_offset(self) -> None:
        broker = self.serve("orders:3")
        with Producer(at(broker), ProducerOptions("orders", linger=0.001, batch_bytes=500)) as producer:
            keyed = [(b"key %d" % index, producer.send(b"value %d" % index, key=b"key %d" % index)) for index in range(500)]
            turns = [producer.send(b"turn") for _ in range(6)]
            producer.flush()
            self.assertEqual([one.result().partition for one in turns], [0, 1, 2, 0, 1, 2])
            self.assertEqual(producer.counts, booblik.Counts(delivered=506))
        with broker.connect() as reader:
            stored = [reader.read_all("orders", partition) for partition in range(3)]
        for index, (key, future) in enumerate(keyed):
            told = future.result()
            self.assertEqual(told.partition, wire.partition_for_key(key, 3))
            assert told.offset is not None
            self.assertEqual(stored[told.partition][told.offset], b"value %d" % index)

    def test_refusals_are_told_by_record_by_batch_and_by_flush(self) -> None:
        broker = self.serve("a:1", segment_capacity_bytes=4096)
        failed: list[FailedBatch] = []
        with Producer(at(broker), ProducerOptions("a", batch_records=1, on_failure=failed.append)) as producer:
            good, bad = producer.send(b"small"), producer.send(b"x" * 5000)
            with self.assertRaises(booblik.DeliveryFailed) as caught:
                producer.flush()
            self.assertEqual(caught.exception.failed, 1)
            producer.flush()  # told once
            self.assertEqual(good.result().offset, 0)
            refusal = bad.exception()
            assert isinstance(refusal, booblik.Refused)
            self.assertIs(refusal.code, ErrorCode.RECORD_TOO_LARGE)
            self.assertEqual([batch.payloads for batch in failed], [(b"x" * 5000,)])
            self.assertEqual(producer.counts, booblik.Counts(delivered=1, refused=1))
            for arguments in ({"payload": b""}, {"payload": b"x", "partition": 1}, {"payload": bytes(8_388_600)}):
                with self.assertRaises(ValueError):
                    producer.send(**arguments)  # type: ignore[arg-type]
        with self.assertRaises(booblik.Closed):
            producer.send(b"late")
        with self.assertRaises(booblik.Refused):
            Producer(at(broker), "no.such.topic")

    def test_flush_with_ack_none_returns_when_the_broker_has_the_records(self) -> None:
        broker = self.serve("a:1")
        with Producer(at(broker), ProducerOptions("a", ack=Ack.NONE)) as producer, broker.connect() as reader:
            for count in (1, 1000):
                futures = [producer.send(b"silent") for _ in range(count)]
                producer.flush()
                self.assertTrue(all(one.result().offset is None for one in futures))
            self.assertEqual(len(reader.read_all("a")), 1001)

    def test_replay_follow_and_starts(self) -> None:
        broker = self.serve("a:1", segment_capacity_bytes=4096)
        payloads = [b"%04d " % index * 20 for index in range(200)]
        with broker.connect() as writer:
            writer.produce("a", payloads)
            with Consumer(at(broker), ConsumerOptions("a", max_bytes=700)) as consumer:
                replayed = [record for batch in consumer.replay() for record in batch.records]
                self.assertEqual([record.payload for record in replayed], payloads)
                self.assertEqual([record.offset for record in replayed], list(range(200)))
                self.assertEqual((consumer.position, list(consumer.replay())), (200, []))
                self.assertEqual(consumer.poll(0.01).records, ())
                follower = consumer.follow()
                writer.produce("a", [b"news"])
                self.assertEqual(next(follower).records, (booblik.Record(200, b"news"),))
            with Consumer(at(broker), ConsumerOptions("a", start=Start.END)) as consumer:
                self.assertEqual(consumer.locate(), 201)
            with Consumer(at(broker), ConsumerOptions("a", start=199, max_bytes=1 << 20)) as consumer:
                self.assertEqual(consumer.poll().records[0], booblik.Record(199, payloads[199]))
                consumer.seek(3)
                self.assertEqual(consumer.poll().records[0].offset, 3)

    def test_close_ends_a_follower_that_waits(self) -> None:
        broker = self.serve("a:1")
        consumer = Consumer(at(broker), "a")
        seen: list[object] = []
        thread = threading.Thread(target=lambda: seen.extend(consumer.follow()))
        thread.start()
        wait_until(lambda: consumer.position == 0, "the follower has begun")
        consumer.close()
        thread.join(10)
        self.assertFalse(thread.is_alive())
        self.assertEqual(seen, [])

    def test_problems_of_consumers_have_names(self) -> None:
        broker = self.serve("a:1")
        with broker.connect() as writer:
            writer.produce("a", [b"x" * 100, b"y"])
        with Consumer(at(broker), ConsumerOptions("a", start=3)) as consumer:
            with self.assertRaises(booblik.LogReset) as reset:
                consumer.poll()
            self.assertEqual((reset.exception.position, reset.exception.high_watermark), (3, 2))
        with Consumer(at(broker), ConsumerOptions("a", max_bytes=50)) as consumer:
            for _ in range(2):
                with self.assertRaises(booblik.RecordExceedsMaxBytes) as large:
                    consumer.poll()
                self.assertEqual((large.exception.offset, large.exception.record_bytes, consumer.position), (0, 100, 0))
            consumer.max_bytes = 108
            self.assertEqual(consumer.poll().records, (booblik.Record(0, b"x" * 100),))
        for options in (ConsumerOptions("b"), ConsumerOptions("a", partition=1), ConsumerOptions("b", start=0)):
            with Consumer(at(broker), options) as consumer, self.assertRaises(booblik.Refused) as refused:
                consumer.poll()
            self.assertIs(refused.exception.code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def test_a_stored_position_goes_before_the_start(self) -> None:
        broker = self.serve("a:1")
        store = FilePositionStore(self.directory / "positions")
        options = ConsumerOptions("a", store=store, max_bytes=30)
        with broker.connect() as writer:
            writer.produce("a", [b"%020d" % index for index in range(3)])
        for index in range(3):
            with Consumer(at(broker), options) as consumer:
                self.assertEqual([record.offset for record in consumer.poll().records], [index])
                consumer.commit()
        self.assertEqual(store.load("a", 0), 3)

    def test_the_command_line_keeps_its_positions_in_the_same_file(self) -> None:
        broker = self.serve("a:1")
        path = self.directory / "positions"

        def consumed() -> list[str]:
            flags = [f"--broker={at(broker)}", "--exit-at-end", f"--position-store={path}"]
            done = subprocess.run([PROGRAM, "consume", "a", *flags], capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout.splitlines()

        with broker.connect() as writer:
            writer.produce("a", [b"one", b"two", b"three"])
        self.assertEqual(consumed(), ["one", "two", "three"])
        store = FilePositionStore(path)
        self.assertEqual(store.load("a", 0), 3)
        store.save("a", 0, 1)
        self.assertEqual(consumed(), ["two", "three"])

    def test_a_producer_and_a_follower_survive_a_restart_of_the_broker(self) -> None:
        broker = self.serve("a:1")
        seen: list[booblik.Record] = []
        consumer = Consumer(at(broker), "a")
        thread = threading.Thread(target=lambda: seen.extend(r for batch in consumer.follow() for r in batch.records))
        thread.start()
        outcomes: dict[bytes, Future[booblik.Delivered]] = {}
        with Producer(at(broker), ProducerOptions("a", linger=0.0, batch_records=5)) as producer:
            for index in range(300):
                payload = b"%d" % index
                outcomes[payload] = producer.send(payload)
                if index == 100:
                    outcomes[b"100"].result(20)
                    broker.kill()
                if index == 200:
                    broker = self.serve("a:1", port=broker.port)
            try:
                producer.flush()
            except booblik.DeliveryFailed as error:
                self.assertIsInstance(error.first, booblik.OutcomeUnknown)
            self.assertTrue(all(one.done() for one in outcomes.values()), "an outcome was never told")
            last = producer.send(b"last").result(20)
        with broker.connect() as reader:
            stored = reader.read_all("a")
        self.assertEqual(len(set(stored)), len(stored), "a record is there twice")
        for payload, future in outcomes.items():
            if future.exception() is None:
                offset = future.result().offset
                assert offset is not None
                self.assertEqual(stored[offset], payload)
            else:
                self.assertIsInstance(future.exception(), booblik.OutcomeUnknown)
        wait_until(lambda: bool(seen) and seen[-1].offset == last.offset, "the follower sees the last record")
        consumer.close()
        thread.join(10)
        self.assertEqual([record.payload for record in seen], stored)


class WithAScriptedBroker(ScriptedTest):
    def test_what_the_protocol_does_not_allow_is_not_believed(self) -> None:
        for what, mangle in HOSTILE.items():
            with self.subTest(what):
                broker = self.scripted(Script(mangled=wire.PRODUCE, mangle=mangle))
                with Connection(at(broker)) as connection:
                    error = connection.send(booblik.Produce("single", 0, [b"x"])).exception(10)
                    expected = type(None) if what == "an answer too many" else booblik.BadAnswer
                    self.assertIsInstance(error, expected)
                    if error is not None:  # the connection is given up, and the next request opens another
                        self.assertEqual(connection.metadata("single")[0].name, "single")

    def test_an_answer_that_nobody_asked_for_ends_the_connection(self) -> None:
        broker = self.scripted(Script(mangled=wire.METADATA, mangle=HOSTILE["an answer too many"]))
        with Connection(at(broker)) as connection:
            for count in (1, 2):
                connection.metadata()
                wait_until(lambda: not connection.is_open, "the connection is given up")
                self.assertEqual(broker.connections, count)

    def test_an_answer_that_is_cut_or_that_never_comes(self) -> None:
        for reply, kind in ((Reply([b"\0\0\0"], then_end=True), booblik.ConnectionLost), (Reply(NOTHING), booblik.TimedOut)):
            broker = self.scripted(Script(mangled=wire.PRODUCE, mangle=lambda frame, reply=reply: reply))  # type: ignore[misc]
            with Connection(at(broker), QUICK) as connection, self.assertRaises(kind):
                connection.produce("single", 0, [b"x"])

    def test_a_deadline_of_one_request_may_be_shorter_than_that_of_another(self) -> None:
        broker = self.scripted(Script(mangled=wire.PRODUCE, mangle=lambda frame: Reply(NOTHING)))
        with Connection(at(broker), ConnectionOptions(timeout=30.0)) as connection:
            begin = time.monotonic()
            first = connection.send(booblik.Produce("single", 0, [b"x"]))
            second = connection.send(booblik.Produce("single", 0, [b"y"]), timeout=0.1)
            self.assertIsInstance(second.exception(10), booblik.TimedOut)
            self.assertIsInstance(first.exception(10), booblik.ConnectionLost)
            self.assertLess(time.monotonic() - begin, 10)

    def test_close_fails_what_waits(self) -> None:
        broker = self.scripted(Script(mangled=wire.PRODUCE, mangle=lambda frame: Reply(NOTHING)))
        connection = Connection(at(broker))
        waiting = connection.send(booblik.Produce("single", 0, [b"x"]))
        connection.close()
        self.assertIsInstance(waiting.exception(10), booblik.Closed)
        with self.assertRaises(booblik.Closed):
            connection.metadata()

    def test_nothing_is_sent_twice_and_what_follows_is_sent(self) -> None:
        cuts = iter([True])
        script = Script(mangled=wire.PRODUCE, mangle=lambda frame: Reply([], True) if next(cuts, False) else Reply([frame]))
        broker = self.scripted(script)
        with Producer(at(broker), ProducerOptions("single", batch_records=1, in_flight_max=1)) as producer:
            unknown, known = producer.send(b"first"), producer.send(b"second")
            self.assertIsInstance(unknown.exception(10), booblik.OutcomeUnknown)
            self.assertIsInstance(known.result(10), booblik.Delivered)
            self.assertEqual([one.payloads for one in broker.of_kind(wire.PRODUCE)], [(b"first",), (b"second",)])
            with self.assertRaises(booblik.DeliveryFailed):
                producer.flush()
            self.assertEqual(producer.counts, booblik.Counts(delivered=1, unknown=1))

    def test_records_that_were_never_sent_are_known_to_be_missing(self) -> None:
        broker = self.scripted(Script())
        options = ProducerOptions("single", linger=0.0, unreachable_after=0.1)
        producer = Producer(at(broker), options)
        broker.__exit__()
        first = producer.send(b"into the closing connection")
        self.assertIsInstance(first.exception(10), (booblik.OutcomeUnknown, booblik.NotSent))
        second = producer.send(b"nobody is there")
        self.assertIsInstance(second.exception(10), booblik.NotSent)
        self.assertIsInstance(second.exception().__cause__, booblik.Unreachable)  # type: ignore[union-attr]
        with self.assertRaises(booblik.DeliveryFailed):
            producer.close()

    def test_a_callback_that_raises_and_a_second_close_do_no_harm(self) -> None:
        broker = self.scripted(Script(mangled=wire.PRODUCE, error=wire.Code.RECORD_TOO_LARGE))

        def raising(failed: FailedBatch) -> None:
            raise RuntimeError("of the user's")

        producer = Producer(at(broker), ProducerOptions("single", linger=0.0, on_failure=raising))
        with self.assertLogs("booblik"):
            self.assertIsInstance(producer.send(b"x").exception(10), booblik.Refused)
            with self.assertRaises(booblik.DeliveryFailed):
                producer.flush()
        broker.script.error = None
        self.assertEqual(producer.send(b"y").result(10), booblik.Delivered(0, 0))
        producer.close()
        producer.close()

    def test_a_full_buffer_makes_send_wait(self) -> None:
        gate = threading.Event()

        def mangle(frame: bytes) -> Reply:
            gate.wait(20)
            return Reply([frame])

        broker = self.scripted(Script(mangled=wire.PRODUCE, mangle=mangle))
        options = ProducerOptions("single", buffer_bytes=5000, linger=0.0)
        with Producer(at(broker), options) as producer:
            self.addCleanup(gate.set)
            sent: list[object] = []
            thread = threading.Thread(target=lambda: sent.extend(producer.send(b"x" * 1000) for _ in range(10)))
            thread.start()
            wait_until(lambda: len(sent) == 3, "three records of 1000 bytes and their overhead fit into 5000")
            self.assertTrue(thread.is_alive())
            gate.set()
            thread.join(10)
            producer.flush()
            self.assertEqual(producer.counts.delivered, 10)

    def test_requests_beyond_the_limit_wait_for_answers(self) -> None:
        gate = threading.Event()
        self.addCleanup(gate.set)

        def mangle(frame: bytes) -> Reply:
            gate.wait(20)
            return Reply([frame])

        broker = self.scripted(Script(mangled=wire.METADATA, mangle=mangle))
        with Connection(at(broker), ConnectionOptions(in_flight_max=2)) as connection:
            sent: list[object] = []
            thread = threading.Thread(target=lambda: sent.extend(connection.send(booblik.Metadata()) for _ in range(5)))
            thread.start()
            wait_until(lambda: len(sent) == 2, "two are under way")
            self.assertTrue(thread.is_alive())
            gate.set()
            thread.join(10)
            self.assertEqual(len(sent), 5)

    def test_ack_none_over_a_connection_that_breaks_is_not_called_a_success(self) -> None:
        broker = self.scripted(Script(mangled=wire.PRODUCE, mangle=lambda frame: Reply([], then_end=True)))
        producer = Producer(at(broker), ProducerOptions("single", ack=Ack.NONE, linger=0.0))
        told = producer.send(b"lost").exception(10)  # handed over, if the end of the connection was not noticed by then
        self.assertIsInstance(told, (booblik.OutcomeUnknown, type(None)))
        wait_until(lambda: bool(broker.of_kind(wire.PRODUCE)), "the broker has read it")
        with self.assertRaises(booblik.DeliveryFailed):
            producer.close()

    def test_what_retention_took_is_told_from_a_log_that_was_reset(self) -> None:
        script = Script(mangled=wire.FETCH, error=wire.Code.OFFSET_OUT_OF_RANGE, log_start=10, end=20)
        broker = self.scripted(script)
        for position, kind in ((9, booblik.OffsetOutOfRange), (21, booblik.LogReset)):
            with Consumer(at(broker), ConsumerOptions("single", start=position)) as consumer:
                with self.assertRaises(booblik.OffsetOutOfRange) as caught:
                    consumer.poll()
                self.assertIs(type(caught.exception), kind)
                self.assertEqual((caught.exception.log_start, caught.exception.high_watermark), (10, 20))
                with self.assertRaises(kind):
                    next(consumer.follow())

    def test_a_consumer_over_hostile_payloads(self) -> None:
        broker = self.scripted(Script(end=2, records=wire.encode_record(b"good") + struct.pack(">iI", 3, 1) + b"bad"))
        with Consumer(at(broker), ConsumerOptions("single", start=0)) as consumer:
            self.assertEqual(consumer.poll().records, (booblik.Record(0, b"good"),))
            broker.script.records = struct.pack(">iI", 3, 1) + b"bad"
            for _ in range(2):
                with self.assertRaises(booblik.CorruptRecord) as corrupt:
                    consumer.poll()
                self.assertEqual((corrupt.exception.offset, consumer.position), (1, 1))
            broker.script.records = b""
            with self.assertRaises(booblik.BadAnswer):  # nothing, although the log goes on
                list(consumer.replay())


if __name__ == "__main__":
    unittest.main()
