"""Peers that are slow, silent, gone or too many: each costs the broker something bounded, and nobody else anything."""

from __future__ import annotations

import struct
import threading
import time
import unittest

import harness  # first: it makes conformance importable
import booblik_wire as wire
from booblik_socket import Closed, Connection, Misbehaviour


class SlowPeers(harness.ProcessTest):
    def test_a_frame_that_is_not_finished_in_time_is_cut(self) -> None:
        broker = self.serve(limit_frame_millis=200)
        request = wire.request(wire.METADATA, 1, 1, wire.metadata_body())
        for started in (request[:1], request[:4], request[:11], struct.pack(">i", wire.FRAME_LENGTH_MAX) + b"x"):
            with broker.connect() as connection:
                begin = time.monotonic()
                connection.send(started)
                connection.expect_end("an unfinished frame")
                self.assertGreater(time.monotonic() - begin, 0.19)

    def test_a_byte_now_and_then_does_not_prolong_it(self) -> None:
        broker = self.serve(limit_frame_millis=200)
        with broker.connect() as connection:
            connection.send(struct.pack(">i", 100_000))
            begin = time.monotonic()
            with self.assertRaises(Closed):
                while time.monotonic() - begin < 20:
                    connection.send(b"x")
                    if connection.answered(0.02):
                        raise Closed("the end was seen")
            self.assertLess(time.monotonic() - begin, 10)

    def test_idle_connections_and_held_fetches_are_not_cut(self) -> None:
        broker = self.serve(limit_frame_millis=50, limit_send_millis=50)
        with broker.connect() as idle, broker.connect() as reader:
            idle.expect_open()
            self.assertEqual(reader.fetch("orders", 0, max_wait_ms=400, min_bytes=1).payload, b"")
            idle.expect_open("an idle connection")
            reader.expect_open("a connection that has held a FETCH")

    def test_a_peer_that_takes_no_answers_is_cut(self) -> None:
        broker = self.serve(limit_send_millis=200)
        with broker.connect() as writer:
            for _ in range(16):
                writer.produce("orders", [bytes(1 << 20)])
            before = broker.open_descriptors()
            with broker.connect(receive_buffer=4096) as stalled:
                for _ in range(8):
                    stalled.send_fetch("orders", 0, wire.INT32_MAX)
                harness.wait_until(lambda: broker.open_descriptors() > before, "the connection is accepted")
                harness.wait_until(lambda: broker.open_descriptors() <= before, "the stalled connection is closed")
            writer.expect_open("another connection")

    def test_a_slow_peer_that_takes_some_is_not_cut(self) -> None:
        broker = self.serve(limit_send_millis=300)
        with broker.connect() as writer:
            for _ in range(4):
                writer.produce("orders", [bytes(1 << 20)])
        with broker.connect(receive_buffer=65536) as slow:
            fetch = slow.send_fetch("orders", 0, wire.INT32_MAX)
            begin = time.monotonic()
            while time.monotonic() - begin < 1.0:
                slow.receive_some("a slow read", 4096)
                time.sleep(0.02)
            self.assertEqual(len(slow.expect_fetched(fetch).payload), 4 * ((1 << 20) + 8))


class ForeignProtocols(harness.ProcessTest):
    GREETINGS = {
        "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "TLS": bytes.fromhex("1603010200010001fc0303") + bytes(500),
        "SSH": b"SSH-2.0-OpenSSH_9.2\r\n",
    }

    def test_they_are_closed_and_named_in_the_log(self) -> None:
        broker = self.serve()
        for name, greeting in self.GREETINGS.items():
            with broker.connect() as connection:
                connection.send(greeting)
                connection.expect_end(name)
        with broker.connect() as connection:
            connection.expect_open()
        self.assertEqual(broker.stop(), 0)
        self.assertRegex(broker.output.text(), "looks like (HTTP|TLS|SSH)")


class TooMany(harness.ProcessTest):
    def test_connections_above_the_limit_are_closed_and_others_served(self) -> None:
        broker = self.serve(limit_connections=5)
        connections = [broker.connect() for _ in range(5)]
        for connection in connections:
            connection.expect_open()
        for _ in range(3):
            with broker.connect() as extra:
                extra.expect_end("a connection above the limit")
        for connection in connections:
            connection.expect_open("a connection within the limit")
        connections.pop().close()
        harness.wait_until(broker.serves, "a connection is served when another has ended")
        for connection in connections:
            connection.close()

    def test_a_reset_releases_a_held_fetch(self) -> None:
        broker = self.serve(limit_connections=4)
        for _ in range(5):
            begin = time.monotonic()
            held: list[Connection] = []
            harness.wait_until(lambda: self.one_more(broker, held) == 4, "all four connections are free again")
            self.assertLess(time.monotonic() - begin, 5)
            for connection in held:
                connection.send_fetch("orders", 0, max_wait_ms=60_000, min_bytes=1)
            for connection in held:
                connection.reset()

    def one_more(self, broker: harness.Broker, served: list[Connection]) -> int:
        connection = broker.connect()
        try:
            connection.expect_open()
            served.append(connection)
        except Misbehaviour:  # the limit is still reached
            connection.close()
        return len(served)

    def test_held_fetches_above_the_limit_are_answered_at_once(self) -> None:
        broker = self.serve(limit_held_fetches=2)
        readers = [broker.connect() for _ in range(3)]
        for reader in readers[:2]:
            reader.hold_fetch("orders", 0, 60_000)
        self.assertEqual(readers[2].fetch("orders", 0, max_wait_ms=60_000, min_bytes=1), wire.Fetched(0, b""))
        with broker.connect() as writer:
            writer.produce("orders", [b"x"])
        for reader in readers[:2]:
            self.assertEqual(len(reader.receive().body), 12 + 9)
            reader.close()
        readers[2].close()

    def test_more_pipelined_requests_than_the_limit_are_all_answered(self) -> None:
        broker = self.serve(limit_pipelined_requests=3)
        with broker.connect() as connection:
            sent = [connection.send_produce("orders", [b"x"], ack=2) for _ in range(200)]
            for index, number in enumerate(sent):
                self.assertEqual(connection.expect_produced(number).base_offset, index)


class Memory(harness.ProcessTest):
    def test_announced_lengths_take_no_memory(self) -> None:
        broker = self.serve()
        with broker.connect() as honest:
            honest.expect_open()
            before = broker.resident_bytes()
            announced = [broker.connect() for _ in range(300)]
            for connection in announced:
                connection.send(struct.pack(">ihhi", wire.FRAME_LENGTH_MAX, wire.PRODUCE, 1, 1))
            honest.expect_open()
            grown = broker.resident_bytes() - before
            for connection in announced:
                connection.close()
        if not harness.SANITIZED:
            self.assertLess(grown, 64 << 20, "300 announced frames of 8 MiB")

    def test_requests_beyond_the_memory_limit_wait_and_are_all_served(self) -> None:
        broker = self.serve("orders:3", limit_request_memory_bytes=32 << 20)
        payload = b"m" * (4 << 20)
        connections = [broker.connect(timeout=60.0) for _ in range(6)]
        sent = []
        body = wire.produce_body("orders", 1, wire.ACK_WRITTEN, [payload])
        threads = []
        for connection in connections:
            requests = [wire.request(wire.PRODUCE, 1, number, body) for number in range(4)]
            threads.append(threading.Thread(target=connection.send, args=(b"".join(requests),), daemon=True))
            threads[-1].start()
            sent.append(range(4))
        for connection, numbers in zip(connections, sent):
            for number in numbers:
                connection.expect_produced(number)
            connection.close()
        for thread in threads:
            thread.join(10)
        with broker.connect() as connection:
            self.assertEqual(connection.partition("orders", 1).high_watermark, 24)


if __name__ == "__main__":
    unittest.main()
