"""One connection that streams as fast as it can does not starve another's small requests."""

from __future__ import annotations

import os
import statistics
import threading
import time
import unittest
from typing import Callable

import harness  # first: it makes conformance importable
import booblik_wire as wire
from booblik_socket import Connection, Misbehaviour

REQUESTS = 200
MIB = 1 << 20


class Hog:
    """Runs `once` on a connection of its own until it is told to stop."""

    def __init__(self, broker: harness.Broker, once: Callable[[Connection], int]) -> None:
        self.connection = broker.connect()
        self.bytes = 0
        self.problem: Exception | None = None
        self._once = once
        self._stop = threading.Event()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self.bytes += self._once(self.connection)
                self._started.set()
        except (Misbehaviour, OSError) as error:
            self.problem = error
        finally:
            self._started.set()

    def __enter__(self) -> Hog:
        self._thread.start()
        self._started.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)
        self.connection.close()


class Fairness(harness.ProcessTest):
    def measure(self, broker: harness.Broker, what: str, hogs: list[Hog]) -> None:
        took = []
        with broker.connect() as connection:
            for number in range(REQUESTS):
                begin = time.monotonic()
                connection.produce("orders", [b"small %d" % number], 1)
                connection.fetch("orders", number, 100, 1)
                took.append((time.monotonic() - begin) * 1000)
        for hog in hogs:
            self.assertIsNone(hog.problem)
            self.assertGreater(hog.bytes, 0)
        total = sum(hog.bytes for hog in hogs)
        print(
            f"small PRODUCE and FETCH beside {what} ({total / MIB:.0f} MiB meanwhile): "
            f"median {statistics.median(took):.2f} ms, worst {max(took):.1f} ms"
        )
        self.assertLess(statistics.median(took), 150)
        self.assertLess(max(took), 3000)

    def test_beside_a_stream_of_fetches(self) -> None:
        broker = self.serve("orders:3")
        with broker.connect() as writer:
            for _ in range(64):
                writer.produce("orders", [b"f" * MIB])

        def fetch(connection: Connection) -> int:
            sent = [connection.send_fetch("orders", offset, wire.INT32_MAX) for offset in range(0, 56, 7)]
            return sum(len(connection.expect(number)) for number in sent)

        with Hog(broker, fetch) as one, Hog(broker, fetch) as two:
            self.measure(broker, "two streams of FETCH", [one, two])

    def test_beside_reads_from_the_disk(self) -> None:
        broker = self.serve("orders:3")
        with broker.connect() as writer:
            for _ in range(64):
                writer.produce("orders", [b"c" * MIB])
            writer.produce("orders", [b"last"], ack=wire.ACK_FORCED)  # clean pages can be dropped

        def fetch_cold(connection: Connection) -> int:
            for path in (self.data / "orders-0").glob("*.log"):
                with open(path, "rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            sent = [connection.send_fetch("orders", offset, wire.INT32_MAX) for offset in range(0, 56, 7)]
            return sum(len(connection.expect(number)) for number in sent)

        with Hog(broker, fetch_cold) as one:
            self.measure(broker, "a stream of cold FETCH", [one])

    def test_beside_a_stream_of_produces(self) -> None:
        broker = self.serve(
            "orders:3", segment_capacity_bytes=16 * MIB, retention_bytes=64 * MIB, retention_check_millis=100
        )
        body = wire.produce_body("orders", 0, wire.ACK_WRITTEN, [b"p" * 1000] * 1000)
        stream = b"".join(wire.request(wire.PRODUCE, 1, number, body) for number in range(8))

        def produce(connection: Connection) -> int:
            connection.send(stream)
            for number in range(8):
                connection.expect_produced(number)
            return len(stream)

        with Hog(broker, produce) as one:
            self.measure(broker, "a stream of PRODUCE", [one])

    def test_beside_a_stream_of_tiny_requests(self) -> None:
        broker = self.serve("orders:3")
        stream = b"".join(wire.request(wire.METADATA, 1, number, wire.metadata_body()) for number in range(2000))

        def ask(connection: Connection) -> int:
            connection.send(stream)
            for number in range(2000):
                connection.expect(number)
            return len(stream)

        with Hog(broker, ask) as one:
            self.measure(broker, "a stream of METADATA", [one])

    def test_behind_hundreds_of_full_pipelines(self) -> None:
        broker = self.serve("orders:3")
        # A busy machine may spoil one attempt; a broker that serves each pipeline to its end spoils them all.
        worst = [self.worst_behind_pipelines(broker, 300) for _ in range(3)]
        print(f"small PRODUCE behind 300 pipelines of 4096 requests: worst {', '.join(f'{ms:.0f}' for ms in worst)} ms")
        if not harness.SANITIZED:
            self.assertLess(min(worst), 250)

    def worst_behind_pipelines(self, broker: harness.Broker, count: int) -> float:
        stream = b"".join(wire.request(wire.METADATA, 1, number, wire.metadata_body()) for number in range(4096))
        peers = [broker.connect(receive_buffer=4096) for _ in range(count)]
        with broker.connect() as honest:
            honest.expect_open()
            for peer in peers:
                peer.send_what_fits(stream)
            worst = max(self.milliseconds(honest, wire.ACK_WRITTEN) for _ in range(10))
        for peer in peers:
            peer.reset()
        return worst

    def test_barriers_are_shared_and_nobody_else_waits_for_them(self) -> None:
        broker = self.serve("orders:1")
        count = 2000
        with broker.connect() as connection:
            alone = statistics.median(self.milliseconds(connection, wire.ACK_FORCED) for _ in range(20))
            begin = time.monotonic()
            sent = [connection.send_produce("orders", [b"shared"], ack=wire.ACK_FORCED) for _ in range(count)]
            for number in sent:
                connection.expect_produced(number)
            pipelined = (time.monotonic() - begin) * 1000

        print(f"FORCED one at a time {alone:.2f} ms, {count} pipelined {pipelined:.1f} ms")
        if alone < 0.3:
            self.skipTest("a barrier costs nothing here, so nothing can be said")
        self.assertLess(pipelined, alone * count / 3, "pipelined FORCED requests do not share barriers")
        self.assertTrue(any(self.written_is_faster(broker) for _ in range(10)), "WRITTEN requests wait for barriers")

    def written_is_faster(self, broker: harness.Broker) -> bool:
        def force(connection: Connection) -> int:
            return connection.produce("orders", [b"f" * 100_000], ack=wire.ACK_FORCED).base_offset + 1

        with Hog(broker, force), broker.connect() as connection:
            pairs = [
                (self.milliseconds(connection, wire.ACK_WRITTEN), self.milliseconds(connection, wire.ACK_FORCED))
                for _ in range(50)
            ]
        written, forced = (statistics.median(column) for column in zip(*pairs))
        print(f"beside barriers: WRITTEN {written:.2f} ms, FORCED {forced:.2f} ms")
        return bool(written < 0.7 * forced)

    def milliseconds(self, connection: Connection, ack: int) -> float:
        begin = time.monotonic()
        connection.produce("orders", [b"timed"], ack=ack)
        return (time.monotonic() - begin) * 1000


if __name__ == "__main__":
    unittest.main()
