"""kill -9 in the middle of everything: what was acknowledged is there afterwards, once, in order, at its offset."""

from __future__ import annotations

import collections
import threading
import unittest

import harness  # first: it makes conformance importable
from booblik_socket import Closed, Connection, Misbehaviour
from booblik_wire import ACK_FORCED, ACK_NONE, ACK_WRITTEN

WRITERS = 6
PARTITIONS = 3
ROUNDS = 20 if harness.LARGE else 3
ACKS_BEFORE_KILL = 5000 if harness.LARGE else 600
DEPTH = 16


class Writer:
    """Sends numbered batches on one connection, many at a time, and remembers what it was told."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.partition = number % PARTITIONS
        self.ack = (ACK_FORCED, ACK_WRITTEN)[number // PARTITIONS % 2]
        self.next_record = 0
        self.acked: dict[int, bytes] = {}  # offset to record

    def batch(self) -> list[bytes]:
        size = 1 + self.next_record % 5
        records = [f"{self.number}:{self.next_record + index}:".encode().ljust(30 + self.next_record % 300, b".") for index in range(size)]
        self.next_record += size
        return records

    def run(self, connection: Connection, progress: Progress) -> None:
        waiting: collections.deque[tuple[int, list[bytes]]] = collections.deque()
        try:
            while True:
                while len(waiting) < DEPTH:
                    if self.next_record % 7 == 0:
                        connection.send_produce("orders", self.batch(), self.partition, ACK_NONE)
                    records = self.batch()
                    waiting.append((connection.send_produce("orders", records, self.partition, self.ack), records))
                number, records = waiting.popleft()
                produced = connection.expect_produced(number)
                for index, record in enumerate(records):
                    self.acked[produced.base_offset + index] = record
                progress.count()
        except Closed:
            progress.ended()
        except (Misbehaviour, OSError) as error:
            progress.ended(error)


class Progress:
    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.problems: list[Exception] = []
        self.changed = threading.Condition()

    def count(self) -> None:
        with self.changed:
            self.wanted -= 1
            self.changed.notify_all()

    def ended(self, problem: Exception | None = None) -> None:
        with self.changed:
            if self.wanted > 0:
                self.problems.append(problem or Closed("a connection ended before the kill"))
            elif problem:
                self.problems.append(problem)
            self.changed.notify_all()

    def wait(self, seconds: float) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.wanted <= 0 or bool(self.problems), seconds)


class KillUnderLoad(harness.ProcessTest):
    def test_acknowledged_records_survive(self) -> None:
        writers = [Writer(number) for number in range(WRITERS)]
        for round_number in range(ROUNDS):
            broker = self.serve(segment_capacity_bytes=16_384)
            self.load_and_kill(broker, writers)
            broker = self.serve(segment_capacity_bytes=16_384)
            self.check(broker, writers)
            # The next round starts after a clean stop or after another kill.
            broker.stop() if round_number % 2 else broker.kill()

    def load_and_kill(self, broker: harness.Broker, writers: list[Writer]) -> None:
        progress = Progress(ACKS_BEFORE_KILL)
        connections = [broker.connect() for _ in writers]
        threads = [
            threading.Thread(target=writer.run, args=(connection, progress), daemon=True)
            for writer, connection in zip(writers, connections)
        ]
        for thread in threads:
            thread.start()
        self.assertTrue(progress.wait(60), "the load made no progress")
        broker.kill()
        for thread in threads:
            thread.join(30)
            self.assertFalse(thread.is_alive(), "a writer did not notice the kill")
        for connection in connections:
            connection.close()
        self.assertEqual(progress.problems, [])

    def check(self, broker: harness.Broker, writers: list[Writer]) -> None:
        for partition in range(PARTITIONS):
            with broker.connect() as connection:
                end = connection.partition("orders", partition).high_watermark
                stored = connection.read_all("orders", partition)  # checksums verified
            self.assertEqual(len(stored), end, "offsets are not dense")
            for writer in writers:
                if writer.partition != partition:
                    continue
                for offset, record in writer.acked.items():
                    self.assertTrue(offset < end and stored[offset] == record, f"acked record at {offset} of {end} is gone")
                own = [int(record.split(b":")[1]) for record in stored if record.startswith(b"%d:" % writer.number)]
                self.assertEqual(own, sorted(set(own)), f"writer {writer.number}: records out of order or twice")


if __name__ == "__main__":
    unittest.main()
