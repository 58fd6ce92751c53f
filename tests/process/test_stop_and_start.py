"""Stopping in good order, starting again, and who may use a data directory."""

from __future__ import annotations

import signal
import time
import unittest

import harness  # first: it makes conformance importable
import booblik_wire as wire
from booblik_socket import Closed


class Stop(harness.ProcessTest):
    def test_held_fetches_get_an_empty_success_and_the_exit_code_is_0(self) -> None:
        broker = self.serve()
        readers = [broker.connect() for _ in range(10)]
        held = [reader.send_fetch("orders", 0, max_wait_ms=60_000, min_bytes=1) for reader in readers]
        behind = [reader.send_metadata() for reader in readers]
        with broker.connect() as connection:
            connection.expect_open()
        begin = time.monotonic()
        broker.signal(signal.SIGTERM)
        for reader, fetch, metadata in zip(readers, held, behind):
            self.assertEqual(reader.expect_fetched(fetch), wire.Fetched(0, b""))
            try:  # a request that the broker had not begun may be left unanswered
                reader.expect_metadata(metadata)
            except Closed:
                pass
            reader.expect_end("after the stop")
            reader.close()
        self.assertEqual(broker.wait(), 0)
        self.assertLess(time.monotonic() - begin, 5)

    def test_idle_and_half_sent_connections_do_not_delay_a_stop(self) -> None:
        broker = self.serve()
        idle = broker.connect()
        half = broker.connect()
        half.send(wire.request(wire.METADATA, 1, 1, wire.metadata_body())[:7])
        with broker.connect() as connection:
            connection.expect_open()
        begin = time.monotonic()
        self.assertEqual(broker.stop(), 0)
        self.assertLess(time.monotonic() - begin, 5)
        for connection in (idle, half):
            connection.expect_end()
            connection.close()

    def test_accepted_produces_are_finished(self) -> None:
        broker = self.serve()
        with broker.connect() as connection:
            payloads = [f"record {number}".encode() for number in range(500)]
            sent = [connection.send_produce("orders", [payload], ack=2) for payload in payloads]
            connection.expect_produced(sent[0])
            broker.signal(signal.SIGTERM)
            answered = 1
            try:
                for number in sent[1:]:
                    connection.expect_produced(number)
                    answered += 1
            except Closed:
                pass
        self.assertEqual(broker.wait(), 0)
        with self.serve().connect() as connection:
            stored = connection.read_all("orders")
        self.assertGreaterEqual(len(stored), answered)
        self.assertEqual(stored, payloads[: len(stored)])

    def test_a_peer_that_takes_no_answers_keeps_nothing_from_being_synced(self) -> None:
        broker = self.serve(limit_shutdown_millis=4000, limit_send_millis=60_000)
        with broker.connect() as writer:
            for _ in range(16):
                writer.produce("orders", [bytes(1 << 20)])
        with broker.connect(receive_buffer=4096) as stalled:
            for _ in range(8):
                stalled.send_fetch("orders", 0, wire.INT32_MAX)
            self.assertTrue(stalled.answered(20))
            broker.signal(signal.SIGTERM)
            self.assertEqual(broker.wait(6), 0)
        with self.serve().connect() as connection:
            self.assertEqual(connection.partition("orders").high_watermark, 16)


class Start(harness.ProcessTest):
    def test_a_restart_keeps_everything(self) -> None:
        payloads = {0: [b"zero %d" % n for n in range(100)], 2: [b"two %d" % n for n in range(37)]}
        broker = self.serve(segment_capacity_bytes=1024)
        with broker.connect() as connection:
            for partition, records in payloads.items():
                connection.produce("orders", records, partition)
        self.assertEqual(broker.stop(), 0)
        # Other segment sizes neither hide nor lose what is there.
        for capacity in (1024, 4096, 1 << 30, 1024):
            broker = self.serve(segment_capacity_bytes=capacity)
            with broker.connect() as connection:
                for partition, records in payloads.items():
                    self.assertEqual(connection.read_all("orders", partition), records)
                    records += [b"after %d %d" % (capacity, n) for n in range(40)]
                    produced = connection.produce("orders", records[-40:], partition, ack=2)
                    self.assertEqual(produced.log_end_offset, len(records))
                self.assertEqual(connection.partition("orders", 1).high_watermark, 0)
            self.assertEqual(broker.stop(), 0)

    def test_the_start_up_block_names_every_partition(self) -> None:
        broker = self.serve("orders:2,a:1")
        with broker.connect() as connection:
            connection.produce("orders", [b"x" * 92] * 3, 1)
        broker.stop()
        broker = self.serve("orders:2,a:1")
        for line in (
            r"\ba-0: offsets 0\.\.0, ",
            r"orders-0: offsets 0\.\.0, ",
            r"orders-1: offsets 0\.\.3, 1 segment\(s\), 300 bytes",
        ):
            self.assertRegex(broker.output.text(), line)

    def test_topics_and_partitions_may_be_added(self) -> None:
        broker = self.serve("orders:1")
        with broker.connect() as connection:
            connection.produce("orders", [b"one"])
        broker.stop()
        broker = self.serve("orders:3,new:2")
        with broker.connect() as connection:
            self.assertEqual(connection.read_all("orders"), [b"one"])
            self.assertEqual([len(topic.partitions) for topic in connection.metadata()], [2, 3])

    def test_fewer_partitions_than_on_disk_are_refused(self) -> None:
        broker = self.serve("orders:3")
        with broker.connect() as connection:
            connection.produce("orders", [b"x"], 2)
        broker.stop()
        broker = self.serve("orders:2", expect_start=False)
        self.assertNotEqual(broker.wait(10), 0)
        self.assertIn("orders", broker.output.text())

    def test_a_broker_that_was_refused_the_directory_disturbs_nobody(self) -> None:
        first = self.serve()
        with first.connect() as connection:
            connection.produce("orders", [b"before"])
            second = self.serve(expect_start=False)
            self.assertNotEqual(second.wait(10), 0)
            connection.produce("orders", [b"after"], ack=2)
        first.kill()
        with self.serve().connect() as connection:
            self.assertEqual(connection.read_all("orders"), [b"before", b"after"])


if __name__ == "__main__":
    unittest.main()
