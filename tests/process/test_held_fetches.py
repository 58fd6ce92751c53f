"""Held FETCHes, many times over: no wake-up is lost, whatever the moment of the append."""

from __future__ import annotations

import time
import unittest

import harness  # first: it makes conformance importable
import booblik_wire as wire

ROUNDS = 10_000
LATE_MS = 100.0
# A lost wake-up shows after the whole wait; a machine that is busy with something else shows after a fraction of a second.
LOST_MS = 5_000.0
WAIT_MS = 60_000


class HeldFetches(harness.ProcessTest):
    def test_ten_thousand_rounds_of_hold_and_append(self) -> None:
        broker = self.serve("orders:3", segment_capacity_bytes=8192)
        took: list[float] = []
        with broker.connect() as reader, broker.connect() as writer:
            ends = [0, 0, 0]
            for number in range(ROUNDS):
                partition = number % 3
                payload = [b"%06d" % number]
                fetch = wire.fetch_body("orders", partition, ends[partition], 1000, WAIT_MS, number % 2)
                ack = wire.ACK_FORCED if number % 500 == 0 else wire.ACK_WRITTEN
                if number % 4 == 0:  # the append may overtake the hold
                    begin = time.monotonic()
                    produced = writer.send_produce("orders", payload, partition, ack)
                    held = reader.send_request(wire.FETCH, 2, fetch)
                else:
                    held = reader.send_request(wire.FETCH, 2, fetch)
                    begin = time.monotonic()
                    produced = writer.send_produce("orders", payload, partition, ack)
                fetched = reader.expect_fetched(held)
                took.append((time.monotonic() - begin) * 1000)
                writer.expect_produced(produced)
                self.assertEqual(fetched.payload, wire.encode_record(payload[0]))
                ends[partition] += 1
        took.sort()
        late = sum(ms > LATE_MS for ms in took)
        print(f"hold to answer: p50 {took[ROUNDS // 2]:.2f} ms, p99 {took[ROUNDS * 99 // 100]:.2f} ms, worst {took[-1]:.1f} ms")
        self.assertLess(took[-1], LOST_MS, "a wake-up was lost")
        self.assertLessEqual(late, 0 if harness.LARGE else 10, f"later than {LATE_MS:g} ms")

    def test_many_readers_of_one_partition_are_all_woken(self) -> None:
        broker = self.serve("orders:1", segment_capacity_bytes=8192)
        readers = [broker.connect() for _ in range(200)]
        with broker.connect() as writer:
            for end in range(10):
                held = [reader.send_fetch("orders", end, max_wait_ms=WAIT_MS, min_bytes=1) for reader in readers]
                writer.produce("orders", [b"x" * 100])
                for reader, number in zip(readers, held):
                    self.assertEqual(len(reader.expect_fetched(number).payload), 108)
        for reader in readers:
            reader.close()

    def test_an_aged_segment_ends_the_wait_for_more(self) -> None:
        broker = self.serve("orders:1", retention_millis=100, retention_check_millis=10)
        with broker.connect() as connection:
            base = connection.produce("orders", [b"soon gone"]).base_offset
            begin = time.monotonic()
            held = connection.send_fetch("orders", base, max_wait_ms=WAIT_MS, min_bytes=100_000)
            response = connection.receive()
            self.assertEqual(response.correlation_id, held)
            # Either the sealed segment was served, or retention has passed the offset.
            self.assertIn(response.code, (wire.Code.NONE, wire.Code.OFFSET_OUT_OF_RANGE))
            self.assertLess(time.monotonic() - begin, 20)
            harness.wait_until(lambda: connection.partition("orders").log_start_offset == 1, "retention took the record")
            gone = connection.send_fetch("orders", base, max_wait_ms=WAIT_MS, min_bytes=1)
            connection.expect(gone, wire.Code.OFFSET_OUT_OF_RANGE)
            self.assertEqual(connection.produce("orders", [b"next"]).base_offset, 1)
        broker.stop()
        with self.serve("orders:1").connect() as connection:
            self.assertEqual(connection.partition("orders").high_watermark, 2)


class Retention(harness.ProcessTest):
    def test_a_response_that_has_begun_survives_retention(self) -> None:
        size = 1 << 20
        broker = self.serve(
            "orders:1", segment_capacity_bytes=8 * size + 64, retention_bytes=4 * size, retention_check_millis=10
        )
        first = [bytes([65 + number]) * size for number in range(8)]
        with broker.connect() as writer, broker.connect(receive_buffer=4096) as slow:
            for payload in first:
                writer.produce("orders", [payload])
            held = slow.send_fetch("orders", 0, wire.INT32_MAX)
            self.assertTrue(slow.answered(20))
            for _ in range(9):
                writer.produce("orders", [b"z" * size])
            harness.wait_until(lambda: writer.partition("orders").log_start_offset == 8, "retention took the segment")
            self.assertFalse(list((self.data / "orders-0").glob("0" * 20 + ".log")))
            split = wire.split_records(slow.expect_fetched(held).payload, verify=False)
            self.assertEqual([len(payload) for payload in split.payloads], [size] * 7)
            self.assertEqual(split.payloads, first[:7])
            self.assertEqual(len(split.tail), wire.FETCH_PAYLOAD_MAX - 7 * (size + 8))

    def test_whole_oldest_segments_go(self) -> None:
        broker = self.serve("orders:1", segment_capacity_bytes=1024, retention_bytes=5000, retention_check_millis=10)
        with broker.connect() as connection:
            for _ in range(40):
                connection.produce("orders", [b"r" * 492])
            harness.wait_until(lambda: connection.partition("orders").log_start_offset == 30, "retention took 15 segments")
            known = connection.partition("orders")
            self.assertEqual(known, wire.Partition(0, 30, 40))  # ten records, 5000 bytes
            self.assertEqual(len(connection.read_all("orders")), 10)
            sent = connection.send_fetch("orders", 29)
            connection.expect(sent, wire.Code.OFFSET_OUT_OF_RANGE)
        broker.kill()
        with self.serve("orders:1", segment_capacity_bytes=1024).connect() as connection:
            self.assertEqual(connection.partition("orders").log_start_offset, 30)


if __name__ == "__main__":
    unittest.main()
