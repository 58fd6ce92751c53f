"""The parts of the Python client that do no input or output."""

from __future__ import annotations

import csv
import json
import random
import struct
import unittest
from typing import Any

from scripted import ROOT, ScriptedTest, wire

from booblik import (
    Ack,
    Address,
    BadAnswer,
    Batch,
    ConnectionOptions,
    ConsumerOptions,
    CorruptRecord,
    FilePositionStore,
    PositionsDamaged,
    ProducerOptions,
    Record,
    RecordExceedsMaxBytes,
    TimedOut,
    ConnectionLost,
    fnv1a,
    partition_for_key,
)
from booblik.accumulator import RECORD_OVERHEAD_BYTES, Accumulator
from booblik.checksum import crc32c, crc32c_by_table
from booblik.records import batch_of
from booblik.runtime_threads import Threads
from booblik.session import Session
from booblik.wire import Fetch, Fetched, Metadata, Produce, Produced, Request, encode_request

VECTORS = ROOT / "conformance" / "vectors"


def tsv(name: str) -> list[dict[str, str]]:
    lines = (VECTORS / f"{name}.tsv").read_text().splitlines()
    return list(csv.DictReader(lines[1:], delimiter="\t"))


class Vectors(unittest.TestCase):
    def test_crc32c(self) -> None:
        rows = tsv("crc32c")
        self.assertGreaterEqual(len(rows), 25)
        for row in rows:
            for function in (crc32c, crc32c_by_table):
                self.assertEqual(f"{function(bytes.fromhex(row['data'])):08x}", row["crc32c"], row["name"])

    def test_partitioner(self) -> None:
        rows = tsv("partitioner")
        self.assertGreaterEqual(len(rows), 20)
        for row in rows:
            key = bytes.fromhex(row["key"])
            self.assertEqual(f"{fnv1a(key):08x}", row["fnv1a"], row["name"])
            for count in (1, 2, 3, 4, 16, 64):
                self.assertEqual(partition_for_key(key, count), int(row[f"p{count}"]), f"{row['name']} of {count}")

    def test_the_json_mirror_says_the_same(self) -> None:
        for name in ("crc32c", "partitioner"):
            mirror = json.loads((VECTORS / f"{name}.json").read_text())["vectors"]
            self.assertEqual([{key: str(value) for key, value in row.items()} for row in mirror], tsv(name))


class Wire(unittest.TestCase):
    """Against the codec of the kit, which was written apart from it."""

    def test_requests(self) -> None:
        for topic in ("a", "журнал"):
            produce = wire.request(wire.PRODUCE, 1, 7, wire.produce_body(topic, 2, 2, [b"one", b"\xff"]))
            self.assertEqual(encode_request(Produce(topic, 2, [b"one", b"\xff"], Ack.FORCED), 7), produce)
            plain = wire.request(wire.FETCH, 1, 8, wire.fetch_body(topic, 1, 2**40, 100))
            self.assertEqual(encode_request(Fetch(topic, 1, 2**40, 100), 8), plain)
            held = wire.request(wire.FETCH, 2, 9, wire.fetch_body(topic, 1, 2**40, 100, 250, 3))
            self.assertEqual(encode_request(Fetch(topic, 1, 2**40, 100, 250, 3), 9), held)
            metadata = wire.request(wire.METADATA, 1, 2**31 - 1, wire.metadata_body([topic, "b"]))
            self.assertEqual(encode_request(Metadata([topic, "b"]), 2**31 - 1), metadata)

    def test_what_may_not_be_sent(self) -> None:
        requests: tuple[Request[Any], ...] = (
            Produce("a", 0, []),
            Produce("a", 0, [b"x", b""]),
            Produce("a", 2**31, [b"x"]),
            Produce("", 0, [b"x"]),
            Produce("ё" * 125, 0, [b"x"]),
            Produce("a", 0, [bytes(8_388_608)]),
            Fetch("a", 0, 2**63, 1),
        )
        for request in requests:
            with self.subTest(request.describe()[:60]), self.assertRaises(ValueError):
                encode_request(request, 1)

    def test_options_have_ranges(self) -> None:
        ranges: tuple[tuple[Any, dict[str, Any]], ...] = (
            (ProducerOptions, {"batch_bytes": 5 << 20}),
            (ProducerOptions, {"batch_records": 0}),
            (ProducerOptions, {"linger": -1.0}),
            (ProducerOptions, {"in_flight_max": 0}),
            (ConsumerOptions, {"max_bytes": 0}),
            (ConsumerOptions, {"start": -1}),
            (ConsumerOptions, {"hold": 61.0}),
        )
        for make, wrong in ranges:
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, next(iter(wrong))):
                make("topic", **wrong)
        with self.assertRaises(ValueError):
            ConnectionOptions(timeout=0.0)

    def test_addresses(self) -> None:
        self.assertEqual(Address.parse("[::1]:9092"), Address("::1", 9092))
        self.assertEqual(str(Address.parse("[::1]:9092")), "[::1]:9092")
        self.assertEqual(Address.parse("host:1"), Address("host", 1))
        for text in ("", "host", ":1", "host:", "host:0", "host:65536", "::1:9092", "host:٣"):
            with self.subTest(text), self.assertRaises(ValueError):
                Address.parse(text)


class Sessions(unittest.TestCase):
    def test_answers_in_any_pieces(self) -> None:
        chance = random.Random(5)
        for _ in range(50):
            session, replies = Session(), [Threads().reply() for _ in range(20)]
            stream = b""
            for number, reply in enumerate(replies, 1):
                session.submit(Produce("a", 0, [b"x"]), reply, 1.0)
                stream += wire.frame(struct.pack(">ihqq", number, 0, number * 10, number * 10 + 1))
            at, seen = 0, 0
            while at < len(stream):
                piece = stream[at : at + chance.randint(1, 40)]
                outcomes = session.receive(piece)
                for outcome in outcomes:
                    outcome.deliver()
                at += len(piece)
                seen += len(outcomes)
                self.assertEqual(seen, at // 26)
            self.assertEqual([reply.result().base_offset for reply in replies], [10 * n for n in range(1, 21)])
            self.assertEqual((session.unanswered, session.violation), (0, None))

    def test_what_comes_ahead_of_a_violation_counts_and_nothing_behind_it(self) -> None:
        session, replies = Session(), [Threads().reply() for _ in range(3)]
        for reply in replies:
            session.submit(Produce("a", 0, [b"x"]), reply, 1.0)
        good = wire.frame(struct.pack(">ihqq", 1, 0, 5, 6))
        bad = wire.frame(struct.pack(">ihqq", 3, 0, 5, 6))
        outcomes = session.receive(good + bad + good)
        self.assertEqual([outcome.value for outcome in outcomes], [Produced(5, 6)])
        self.assertIsInstance(session.violation, BadAnswer)
        self.assertIn("answer to 3", str(session.violation))

    def test_answers_that_make_no_sense(self) -> None:
        cases: list[tuple[Request[Any], bytes]] = [
            (Produce("a", 0, [b"x", b"y"]), struct.pack(">qq", 5, 6)),
            (Produce("a", 0, [b"x"]), struct.pack(">qq", -1, 0)),
            (Fetch("a", 0, 7, 100), struct.pack(">qi", 6, 0)),
            (Metadata(["a"]), struct.pack(">i", 0)),
            (Metadata(["a"]), struct.pack(">i", 1) + wire.encode_name("b") + struct.pack(">iiqq", 1, 0, 0, 0)),
            (Metadata(["a"]), struct.pack(">i", 1) + wire.encode_name("a") + struct.pack(">i", 0)),
            (Metadata(["a"]), struct.pack(">i", 1) + wire.encode_name("a") + struct.pack(">iiqq", 1, 1, 0, 0)),
            (Metadata(), struct.pack(">i", -1) + b"x"),
        ]
        for request, body in cases:
            with self.subTest(request.describe(), body=body.hex()):
                session = Session()
                session.submit(request, Threads().reply(), 1.0)
                self.assertEqual(session.receive(wire.frame(struct.pack(">ih", 1, 0) + body)), [])
                self.assertIsInstance(session.violation, BadAnswer)

    def test_damaged_streams_never_do_more_than_violate(self) -> None:
        chance = random.Random(9)
        metadata = wire.frame(struct.pack(">ihi", 2, 0, 1) + wire.encode_name("a") + struct.pack(">iiqq", 1, 0, 3, 9))
        fetched = wire.frame(struct.pack(">ihqi", 3, 0, 9, 11) + wire.encode_record(b"abc"))
        stream = wire.frame(struct.pack(">ihqq", 1, 0, 7, 8)) + metadata + fetched
        violations = 0
        for _ in range(2000):
            damaged = bytearray(stream)
            for _ in range(chance.randint(1, 3)):
                damaged[chance.randrange(len(damaged))] = chance.choice([0, 1, 2, 127, 128, 255, chance.randrange(256)])
            session = Session()
            asked: list[Request[Any]] = [Produce("a", 0, [b"x"]), Metadata(["a"]), Fetch("a", 0, 3, 11)]
            for request in asked:
                session.submit(request, Threads().reply(), 1.0)
            outcomes = session.receive(bytes(damaged))
            self.assertLessEqual(len(outcomes), 3)
            self.assertEqual(len(outcomes) + session.unanswered, 3)
            violations += session.violation is not None
        self.assertGreater(violations, 500)

    def test_only_what_is_overdue_has_timed_out(self) -> None:
        session, replies = Session(), [Threads().reply() for _ in range(2)]
        for reply, deadline in zip(replies, (1.0, 5.0)):
            session.submit(Metadata(), reply, deadline)
        self.assertEqual(session.next_deadline(), 1.0)
        for outcome in session.abandon(TimedOut("late"), 2.0):
            outcome.deliver()
        self.assertIsInstance(replies[0].exception(), TimedOut)
        self.assertIsInstance(replies[1].exception(), ConnectionLost)


class Records(unittest.TestCase):
    STORED = wire.encode_records([b"first", b"second"])

    def batch(self, payload: bytes, max_bytes: int = 100) -> Batch:
        return batch_of(Fetched(99, payload), 7, max_bytes)

    def test_cut_anywhere(self) -> None:
        for cut in range(1, len(self.STORED) + 1):
            whole = (cut >= 13) + (cut >= 27)
            if not whole:
                with self.assertRaises(RecordExceedsMaxBytes) as caught:
                    self.batch(self.STORED[:cut], cut)
                self.assertEqual((caught.exception.offset, caught.exception.record_bytes), (7, 5 if cut >= 4 else None))
            else:
                records = (Record(7, b"first"), Record(8, b"second"))[:whole]
                self.assertEqual(self.batch(self.STORED[:cut]), Batch(records, 7 + whole, 99))

    def test_a_corrupt_record_is_met_when_it_comes_first(self) -> None:
        for index in (4, 8, 12):  # checksum, first and last byte of the payload
            damaged = bytearray(self.STORED)
            damaged[13 + index] ^= 0x80
            self.assertEqual(self.batch(bytes(damaged)).next_offset, 8)
            with self.assertRaises(CorruptRecord) as caught:
                self.batch(bytes(damaged[13:]))
            self.assertEqual(caught.exception.offset, 7)

    def test_impossible_sizes(self) -> None:
        for size in (0, -1, -(2**31)):
            for tail in (b"", bytes(3), bytes(50)):
                with self.subTest((size, len(tail))), self.assertRaises(CorruptRecord):
                    self.batch(struct.pack(">i", size) + tail)


class Accumulation(unittest.TestCase):
    def accumulator(self, **settings: float) -> Accumulator:
        return Accumulator(**{"batch_bytes": 100, "batch_records": 10, "linger": 5.0, "buffer_bytes": 10_000} | settings)  # type: ignore[arg-type]

    def add(self, accumulator: Accumulator, payload: bytes, partition: int = 0, now: float = 0.0) -> None:
        accumulator.add(partition, payload, Threads().reply(), now)

    def test_by_bytes_by_count_and_by_age(self) -> None:
        full = self.accumulator()
        for _ in range(3):
            self.add(full, b"x" * 40)
        batch = full.take_due(0.0)
        assert batch is not None
        self.assertEqual([len(one) for one in batch.payloads], [40, 40])  # a third would exceed 100
        self.assertIsNone(full.take_due(4.9))
        self.assertEqual(full.seconds_to_next(1.0), 4.0)
        self.assertIsNotNone(full.take_due(5.0))
        self.assertIsNone(full.seconds_to_next(5.0))
        counted = self.accumulator(batch_records=2)
        self.add(counted, b"x")
        self.assertIsNone(counted.take_due(0.0))
        self.add(counted, b"x")
        self.assertIsNotNone(counted.take_due(0.0))

    def test_the_oldest_partition_goes_first_and_seal_makes_all_due(self) -> None:
        accumulator = self.accumulator()
        for partition, now in ((2, 0.0), (0, 1.0), (1, 2.0)):
            self.add(accumulator, b"x", partition, now)
        first = accumulator.take_due(5.0)
        assert first is not None
        self.assertEqual(first.partition, 2)
        self.assertIsNone(accumulator.take_due(5.0))
        accumulator.seal()
        self.assertEqual([batch.partition for batch in iter(lambda: accumulator.take_due(5.0), None)], [0, 1])

    def test_memory_and_settling(self) -> None:
        accumulator = self.accumulator(buffer_bytes=2 * (RECORD_OVERHEAD_BYTES + 50))
        self.assertTrue(accumulator.has_room(b"x" * 5000), "a record larger than the buffer goes alone")
        self.add(accumulator, b"x" * 50)
        self.assertTrue(accumulator.has_room(b"x" * 50))
        self.add(accumulator, b"x" * 50)
        self.assertFalse(accumulator.has_room(b"x"))
        last = accumulator.seal()
        batch = accumulator.take_due(0.0)
        assert batch is not None
        self.assertFalse(accumulator.settled_up_to(last))
        accumulator.release(batch)
        self.assertTrue(accumulator.settled_up_to(last))
        self.assertTrue(accumulator.has_room(b"x" * 500))


class Positions(ScriptedTest):
    def test_what_was_saved_is_loaded(self) -> None:
        path = self.folder() / "positions"
        store = FilePositionStore(path)
        self.assertIsNone(store.load("orders", 0))
        store.save("orders", 0, 5)
        store.save("журнал", 3, 2**62)
        store.save("orders", 0, 6)
        again = FilePositionStore(path)
        self.assertEqual([again.load("orders", 0), again.load("журнал", 3), again.load("orders", 1)], [6, 2**62, None])
        self.assertEqual(path.read_bytes().split(b"\n")[:2], [b"booblik-positions 1", b"orders 0 6"])
        for arguments in (("", 0, 1), ("a b", 0, 1), ("a", 0, -1), ("a", -1, 0)):
            with self.assertRaises(ValueError):
                store.save(*arguments)

    def test_a_file_that_was_changed_or_cut_is_never_taken_for_no_positions(self) -> None:
        path = self.folder() / "positions"
        store = FilePositionStore(path)
        store.save("orders", 0, 12345)
        content = path.read_bytes()
        for cut in range(len(content)):
            for damaged in (content[:cut], content[:cut] + bytes([content[cut] ^ 1]) + content[cut + 1 :]):
                path.write_bytes(damaged)
                with self.assertRaises(PositionsDamaged):
                    store.load("orders", 0)
                with self.assertRaises(PositionsDamaged):
                    store.save("orders", 0, 1)
                self.assertEqual(path.read_bytes(), damaged, "what is damaged is left for a person to look at")


if __name__ == "__main__":
    unittest.main()
