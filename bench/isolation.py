#!/usr/bin/env python3
"""What one partition's PRODUCE latency is beside others who do something heavy: `python3 bench/isolation.py`.

An open-loop load on the partition `quiet` (latency counts from when a request should have left) is measured alone, then
beside each neighbour, then alone again, in one run on one machine. Needs build/release/booblik and build/release/bench/
slow_sync_broker, 3 GiB on a real disk for the time, and about two minutes. tmpfs is refused.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GIB = 1 << 30


@dataclass(frozen=True)
class Setup:
    program: str
    slow_broker: str
    directory: Path
    seconds: float
    rate: int

    @property
    def data(self) -> Path:
        return self.directory / "data"


class Broker:
    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.process.stdout is not None
        self.output: list[str] = []
        for line in self.process.stdout:
            self.output.append(line)
            if line.startswith("booblik listening on "):
                self.address = line.split()[-1]
                break
        else:
            raise SystemExit(f"{' '.join(command)} did not start:\n{''.join(self.output)}")
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        assert self.process.stdout is not None
        self.output.extend(self.process.stdout)

    def __enter__(self) -> Broker:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def serve(setup: Setup, *flags: str) -> Broker:
    return Broker([setup.program, "serve", "--port=0", f"--data-dir={setup.data}", "--topics=quiet:1,bulk:1",
                   "--segment-capacity-bytes=1536MiB", "--metrics-interval-millis=0", *flags])


def load(setup: Setup, broker: Broker, acks: str, topic: str = "quiet", seconds: float | None = None) -> dict[str, float]:
    seconds = seconds or setup.seconds
    done = subprocess.run(
        [setup.program, "bench-produce", "--broker", broker.address, "--topic", topic, "--connections", "1", "--batch", "1",
         "--rate", str(setup.rate), "--acks", acks, "--seconds", str(seconds), "--warm-up", "0.5", "--json"],
        check=True, capture_output=True, text=True, timeout=seconds + 60)
    found: dict[str, float] = json.loads(done.stdout)
    return found


@contextlib.contextmanager
def repeated(command: list[str], before: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Runs `command` again and again beside the body."""
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            before()
            subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(60)


def drop_cache(folder: Path) -> None:
    for path in folder.glob("*.log"):
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def fill_bulk(setup: Setup) -> None:
    """2 GiB: one sealed segment of 1.5 GiB and an active one, synced, so that its pages can be dropped."""
    with serve(setup) as broker:
        while sum(path.stat().st_size for path in (setup.data / "bulk-0").glob("*.log")) < 2 * GIB:
            subprocess.run([setup.program, "bench-produce", "--broker", broker.address, "--topic", "bulk", "--connections", "1",
                            "--batch", "100", "--record-bytes", "10000", "--depth", "4", "--seconds", "1", "--warm-up", "0",
                            "--json"], check=True, capture_output=True, timeout=60)


Row = tuple[str, dict[str, float]]


def beside_readers(setup: Setup, acks: str) -> Iterator[Row]:
    with serve(setup) as broker:
        yield "alone", load(setup, broker, acks)
        fetch = [setup.program, "bench-fetch", "--broker", broker.address, "--topic", "bulk", "--seconds", "1"]
        with repeated(fetch, lambda: drop_cache(setup.data / "bulk-0")):
            yield "a consumer of cold data at full speed", load(setup, broker, acks)
        with stalled_consumers(broker, 20):
            yield "20 consumers that ask for 8 MiB each and stall", load(setup, broker, acks)
        yield "alone, again", load(setup, broker, acks)


@contextlib.contextmanager
def stalled_consumers(broker: Broker, count: int) -> Iterator[None]:
    host, port = broker.address.rsplit(":", 1)
    body = struct.pack(">H", 4) + b"bulk" + struct.pack(">iqi", 0, 0, 8 << 20)
    request = struct.pack(">ihhi", 8 + len(body), 2, 1, 1) + body
    peers = []
    for _ in range(count):
        peer = socket.socket()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.connect((host, int(port)))
        peer.sendall(request * 16)
        peers.append(peer)
    try:
        yield
    finally:
        for peer in peers:
            peer.close()


def beside_retention(setup: Setup, acks: str) -> Iterator[Row]:
    """The segment of 1.5 GiB goes in the middle of the measurement."""
    check_millis = int((setup.seconds / 2 + 0.5) * 1000)
    with serve(setup, "--retention-bytes=1MiB", f"--retention-check-millis={check_millis}") as broker:
        found = load(setup, broker, acks)
        if not any("retention removed" in line for line in broker.output):
            raise SystemExit("retention has removed nothing during the measurement")
        yield "retention deletes a segment of 1.5 GiB", found


def beside_slow_sync(setup: Setup, acks: str) -> Iterator[Row]:
    with Broker([setup.slow_broker, str(setup.directory / "slow"), "2000"]) as broker:
        slow = [setup.program, "bench-produce", "--broker", broker.address, "--topic", "slow", "--connections", "4",
                "--acks", "forced", "--rate", "1000", "--seconds", str(setup.seconds)]
        yield "alone, fresh broker", load(setup, broker, acks)
        with repeated(slow):
            yield "every fsync of another partition takes 2 s", load(setup, broker, acks)
        if load(setup, broker, "forced", topic="slow", seconds=3)["p99_us"] < 1e6:
            raise SystemExit("the slow partition is not slow")
        broker.process.kill()  # in good order it would wait for the slow partition


def measure(setup: Setup, acks: str) -> Iterator[Row]:
    fill_bulk(setup)
    yield from beside_readers(setup, acks)
    yield from beside_retention(setup, acks)
    yield from beside_slow_sync(setup, acks)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/booblik"), help="the booblik program (%(default)s)")
    parser.add_argument("--slow-broker", default=str(ROOT / "build/release/bench/slow_sync_broker"), help="(%(default)s)")
    parser.add_argument("--directory", default=str(ROOT / "build"), help="on a real disk (%(default)s)")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement (%(default)g)")
    parser.add_argument("--rate", type=int, default=2000, help="requests a second on the quiet partition (%(default)d)")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    kind = subprocess.run(["stat", "-f", "-c", "%T", arguments.directory], check=True, capture_output=True, text=True)
    if kind.stdout.strip() in ("tmpfs", "ramfs"):
        print(f"isolation.py: {arguments.directory} is on {kind.stdout.strip()}, which says nothing about a disk", file=sys.stderr)
        return 2
    if shutil.disk_usage(arguments.directory).free < 6 * GIB:
        print(f"isolation.py: {arguments.directory} has less than 6 GiB free", file=sys.stderr)
        return 2
    print("| acks | beside | p50 ms | p99 ms | p99 / alone | p99.9 ms |\n|---|---|---|---|---|---|")
    for acks in ("written", "forced"):
        directory = Path(tempfile.mkdtemp(prefix="isolation-", dir=arguments.directory))
        try:
            setup = Setup(arguments.program, arguments.slow_broker, directory, arguments.seconds, arguments.rate)
            alone = 0.0
            for name, found in measure(setup, acks):
                alone = alone or found["p99_us"]
                print(f"| {acks} | {name} | {found['p50_us'] / 1000:.2f} | {found['p99_us'] / 1000:.2f} | "
                      f"{found['p99_us'] / alone:.1f} | {found['p999_us'] / 1000:.1f} |", flush=True)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
