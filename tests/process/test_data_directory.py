"""Data directories that something else has left: the original broker, a crash, a busy year of small segments."""

from __future__ import annotations

import struct
import unittest
from pathlib import Path

import harness  # first: it makes conformance importable
import booblik_wire as wire

PREALLOCATED = 512 << 20


def write_segment(partition: Path, base: int, payloads: list[bytes], preallocated: bool = True) -> Path:
    partition.mkdir(parents=True, exist_ok=True)
    path = partition / f"{base:020d}.log"
    with open(path, "wb") as file:
        file.write(wire.encode_records(payloads))
        if preallocated:
            file.truncate(PREALLOCATED)  # sparse: zeros that take no space
    return path


class OfTheOriginal(harness.ProcessTest):
    """Every segment file is preallocated with zeros, the finished ones too."""

    def test_it_opens_serves_and_goes_on(self) -> None:
        first = [f"original {number}".encode() for number in range(300)]
        for base, end in ((0, 120), (120, 121), (121, 300)):
            write_segment(self.data / "orders-0", base, first[base:end])
        write_segment(self.data / "orders-1", 0, [])  # created, nothing in it
        stored: dict[int, list[bytes]] = {0: first, 1: []}
        for capacity in (PREALLOCATED, 4096, 1 << 30):
            broker = self.serve("orders:3", segment_capacity_bytes=capacity)
            with broker.connect() as connection:
                finished = connection.fetch("orders", 100, wire.INT32_MAX).payload
                self.assertEqual(finished, wire.encode_records(first[100:120]))
                for partition, payloads in stored.items():
                    self.assertEqual(connection.read_all("orders", partition), payloads)
                    payloads += [f"{partition} {capacity} {number}".encode() for number in range(50)]
                    produced = connection.produce("orders", payloads[-50:], partition, ack=2)
                    self.assertEqual(produced.log_end_offset, len(payloads))
                    self.assertEqual(connection.read_all("orders", partition), payloads)
            if capacity == 4096:
                broker.kill()
            else:
                self.assertEqual(broker.stop(), 0)

    def test_a_log_whose_start_was_removed_begins_later(self) -> None:
        payloads = [f"record {number}".encode() for number in range(100)]
        write_segment(self.data / "orders-0", 1000, payloads[:60])
        write_segment(self.data / "orders-0", 1060, payloads[60:])
        with self.serve("orders:1").connect() as connection:
            self.assertEqual(connection.partition("orders"), wire.Partition(0, 1000, 1100))
            self.assertEqual(connection.read_all("orders"), payloads)
            for offset in (0, 999, 1101):
                sent = connection.send_fetch("orders", offset)
                connection.expect(sent, wire.Code.OFFSET_OUT_OF_RANGE)
            self.assertEqual(connection.produce("orders", [b"next"]).base_offset, 1100)


class TornTail(harness.ProcessTest):
    """What a crash may leave behind the last whole record is cut off, and never comes back."""

    def leave_tail(self, tail: bytes, with_checkpoint: bool) -> list[bytes]:
        payloads = [f"kept {number:04d}".encode() for number in range(20)]
        broker = self.serve("orders:1")
        with broker.connect() as connection:
            connection.produce("orders", payloads, ack=2)
        self.assertEqual(broker.stop(), 0)
        if not with_checkpoint:
            (self.data / "checkpoint").unlink(missing_ok=True)
        segments = sorted((self.data / "orders-0").glob("*.log"))
        with open(segments[-1], "r+b") as file:
            file.truncate(len(wire.encode_records(payloads)))
            file.seek(0, 2)
            file.write(tail)
        return payloads

    def test_every_kind_of_tail(self) -> None:
        ghost = wire.encode_record(b"ghost 0001")
        bad = bytearray(wire.encode_record(b"broken 001"))
        bad[-1] ^= 0x40
        tails = {
            "a part of a header": ghost[:5],
            "a header alone": ghost[:8],
            "a part of a record": ghost[:-1],
            "a record with a wrong checksum and good ones behind it": bytes(bad) + ghost + ghost,
            "a size beyond all bounds": struct.pack(">iI", wire.INT32_MAX, 0) + ghost,
            "a negative size": struct.pack(">iI", -5, 0) + ghost,
            "zeros with records behind them": bytes(len(ghost)) + ghost + ghost,
            "a megabyte of zeros": bytes(1 << 20),
        }
        for what, tail in tails.items():
            for with_checkpoint in (True, False):
                with self.subTest(what, with_checkpoint=with_checkpoint):
                    self.data = self.directory / f"{len(self._brokers)}"
                    self.check(self.leave_tail(tail, with_checkpoint))

    def check(self, payloads: list[bytes]) -> None:
        broker = self.serve("orders:1")
        with broker.connect() as connection:
            self.assertEqual(connection.read_all("orders"), payloads)
            # As long as the first of the tail: it would put what lies behind that in line again.
            payloads = payloads + [b"new record"]
            self.assertEqual(connection.produce("orders", payloads[-1:]).log_end_offset, len(payloads))
        broker.kill()
        broker = self.serve("orders:1")
        with broker.connect() as connection:
            self.assertEqual(connection.read_all("orders"), payloads)
        broker.kill()


class ManySegments(harness.ProcessTest):
    def test_thousands_of_segments_with_few_descriptors(self) -> None:
        count = 5000 if harness.LARGE else 1500
        payloads = [f"{number:06d}".encode().ljust(1000, b"s") for number in range(count)]
        for number, payload in enumerate(payloads):
            write_segment(self.data / "orders-0", number, [payload], preallocated=False)
        for _ in range(2):
            broker = self.serve("orders:3", segment_capacity_bytes=1024, descriptors=256)
            connections = [broker.connect() for _ in range(40)]
            for index, connection in enumerate(connections):
                offset = index * count // len(connections)
                record = connection.fetch("orders", offset, wire.INT32_MAX).payload
                self.assertEqual(record, wire.encode_record(payloads[offset]))
                connection.produce("orders", [b"x" * 1000], 1)
            with broker.connect() as connection:
                self.assertEqual(connection.read_all("orders", verify=False), payloads)
            for connection in connections:
                connection.close()
            self.assertLess(broker.open_descriptors(), 256)
            broker.stop()

    def test_rolls_go_on_during_a_flood_of_connections(self) -> None:
        broker = self.serve("orders:1", segment_capacity_bytes=1024, descriptors=256, limit_connections=1000)
        honest = broker.connect()
        honest.expect_open()
        flood = []
        try:
            for _ in range(300):
                flood.append(broker.connect())
            for number in range(300):
                self.assertEqual(honest.produce("orders", [b"r" * 1000]).base_offset, number)
            self.assertEqual(len(honest.read_all("orders", verify=False)), 300)
        finally:
            for connection in flood:
                connection.close()
        harness.wait_until(broker.serves, "the listener serves again when the flood is over")


class Damage(harness.ProcessTest):
    def test_damage_in_an_older_segment_hides_nothing_else(self) -> None:
        payloads = [f"record {number:04d}".encode() for number in range(90)]
        for base in (0, 30, 60):
            write_segment(self.data / "orders-0", base, payloads[base : base + 30], preallocated=False)
        path = self.data / "orders-0" / f"{30:020d}.log"
        size = len(wire.encode_record(payloads[0]))
        before = bytearray(path.read_bytes())
        before[10 * size + 12] ^= 1  # record 40
        path.write_bytes(before)
        for _ in range(2):
            broker = self.serve("orders:1")
            self.assertRegex(broker.output.text(), r"orders-0: offsets 0\.\.90, .*, damaged: 1 offsets cannot be read")
            with broker.connect() as connection:
                self.assertEqual(connection.partition("orders"), wire.Partition(0, 0, 90))
                self.assertEqual(connection.fetch("orders", 0, wire.INT32_MAX).payload, wire.encode_records(payloads[:30]))
                self.assertEqual(connection.fetch("orders", 30, wire.INT32_MAX).payload, wire.encode_records(payloads[30:40]))
                self.assertEqual(connection.read_all("orders", offset=60), payloads[60:])
                connection.send_fetch("orders", 40)
                connection.expect_end("a FETCH inside the damage")
            self.assertEqual(broker.stop(), 0)
            self.assertEqual(path.read_bytes(), bytes(before), "a damaged segment was changed")

    def test_foreign_files_are_left_alone(self) -> None:
        write_segment(self.data / "orders-0", 0, [b"one"], preallocated=False)
        foreign = [self.data / "notes.txt", self.data / "orders-0" / "notes.txt", self.data / "orders-0" / "12.log"]
        for path in foreign:
            path.write_bytes(b"not a segment")
        broker = self.serve("orders:1")
        with broker.connect() as connection:
            self.assertEqual(connection.read_all("orders"), [b"one"])
            connection.produce("orders", [b"two"], ack=2)
        self.assertEqual(broker.stop(), 0)
        for path in foreign:
            self.assertEqual(path.read_bytes(), b"not a segment")


if __name__ == "__main__":
    unittest.main()
