"""The clients of one round: processes that write and read until they are told to stop, each with a journal."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import journal

CLIENT = Path(__file__).with_name("client.py")
STOP_SECONDS = 60.0
EVERY_POLICY = (0, 1, 2)


class LoadFailed(Exception):
    """A client broke: nothing is known about the broker."""


@dataclass(frozen=True)
class Shape:
    partitions: int
    batches_per_second: float  # of each producer


# What the producers of a round send, and how many of each there are.
PRODUCERS = (EVERY_POLICY, EVERY_POLICY, (2,), (1,))
READERS = 1


class Load:
    def __init__(self, folder: Path, shape: Shape, port: int, seed: str, first_sequences: dict[int, int]) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self._clients: list[tuple[Path, subprocess.Popen[bytes]]] = []
        for number, acks in enumerate(PRODUCERS):
            more = ["--first-sequence", str(first_sequences.get(number, 0)), "--acks", *map(str, acks)]
            more += ["--batches-per-second", str(shape.batches_per_second)]
            self._start("produce", number, shape, port, seed, more)
        for number in range(len(PRODUCERS), len(PRODUCERS) + READERS):
            self._start("read", number, shape, port, seed, [])

    def _start(self, role: str, number: int, shape: Shape, port: int, seed: str, more: list[str]) -> None:
        path = self.folder / f"{role}-{number}.journal"
        command = [sys.executable, str(CLIENT), role, "--port", str(port), "--number", str(number), "--seed", seed]
        command += ["--journal", str(path), "--partitions", str(shape.partitions), *more]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self._clients.append((path, process))

    def end(self) -> None:
        """Returns when they have ended; LoadFailed when one of them broke."""
        for _, process in self._clients:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for path, process in self._clients:
            try:
                _, errors = process.communicate(timeout=STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise LoadFailed(f"the client of {path} did not stop within {STOP_SECONDS:g} s") from None
            # SIGTERM may come before it has begun to listen to it.
            if process.returncode not in (0, -signal.SIGTERM):
                raise LoadFailed(f"the client of {path} ended with {process.returncode}: {errors.decode(errors='replace')}")

    def kill(self) -> None:
        for _, process in self._clients:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def journals(self) -> journal.Round:
        done = journal.Round()
        for path in sorted(self.folder.glob("*.journal")):
            done.add(path)
        return done
