"""What the broker costs while it does nothing. The figures are printed; the bounds are those that a user would notice."""

from __future__ import annotations

import os
import time
import unittest
from pathlib import Path

import harness

IDLE_SECONDS = 1.5


def run_nanoseconds(pid: int) -> int:
    """Processor time of all threads, finer than the ticks of /proc/PID/stat."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        total += int(Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0])
    return total


class Footprint(harness.ProcessTest):
    def test_idle(self) -> None:
        broker = self.serve("default:1")
        with broker.connect() as connection:
            connection.produce("default", [b"x"], ack=2)
            before = run_nanoseconds(broker.pid)
            time.sleep(IDLE_SECONDS)  # the time that is measured, not a wait for something
            used_ms = (run_nanoseconds(broker.pid) - before) / 1e6
        resident = broker.resident_bytes() / (1 << 20)
        print(f"idle: {resident:.1f} MiB resident, {used_ms:.2f} ms of processor time in {IDLE_SECONDS} s")
        if not harness.SANITIZED:
            self.assertLess(resident, 12)
        self.assertLess(used_ms, 50)

    def test_idle_with_held_fetches(self) -> None:
        broker = self.serve("default:1")
        readers = [broker.connect() for _ in range(100)]
        for reader in readers:
            reader.expect_open()
            reader.send_fetch("default", 0, max_wait_ms=60_000, min_bytes=1)
        with broker.connect() as connection:
            connection.expect_open()
        before = run_nanoseconds(broker.pid)
        time.sleep(IDLE_SECONDS)
        used_ms = (run_nanoseconds(broker.pid) - before) / 1e6
        print(f"100 held FETCHes: {broker.resident_bytes() / (1 << 20):.1f} MiB resident, {used_ms:.2f} ms in {IDLE_SECONDS} s")
        self.assertLess(used_ms, 50)
        for reader in readers:
            reader.close()

    def test_start_on_an_empty_directory(self) -> None:
        took = []
        for number in range(10):
            self.data = self.directory / f"empty-{number}"
            broker = self.serve("default:1")
            took.append(broker.start_seconds * 1000)
            broker.stop()
        took.sort()
        print(f"start on an empty directory, exec to listening: best {took[0]:.1f} ms, median {took[5]:.1f} ms")
        if not harness.SANITIZED:
            self.assertLess(took[0], 500)

    def test_descriptors_and_memory_come_back(self) -> None:
        broker = self.serve("orders:1", segment_capacity_bytes=1 << 20)
        with broker.connect() as connection:
            connection.expect_open()
            before = broker.open_descriptors()
            for _ in range(3):
                peers = [broker.connect() for _ in range(100)]
                for index, peer in enumerate(peers):
                    peer.send_produce("orders", [b"y" * 50_000])
                    peer.send_fetch("orders", 0, 1 << 20)
                    peer.reset() if index % 2 else peer.close()
            harness.wait_until(lambda: broker.open_descriptors() <= before + 64, "descriptors come back")
            connection.expect_open()
        resident = broker.resident_bytes() / (1 << 20)
        print(f"after 300 connections that came and went: {resident:.1f} MiB resident")
        if not harness.SANITIZED:
            self.assertLess(resident, 100)


if __name__ == "__main__":
    unittest.main()
