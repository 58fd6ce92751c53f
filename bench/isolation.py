#!/usr/bin/env python3
"""What one partition's PRODUCE latency is beside others who do something heavy: `python3 bench/isolation.py`.

An open-loop load on the partition `quiet` (latency counts from when a request should have left) is measured alone and
beside each neighbour, in one run on one machine; medians of some runs are printed as a table, and at the end which rows
exceed what is stated. The control is a plain program that appends the same bytes to a file beside a plain program that
does the same heavy thing: what it feels, no broker can change.

`stolen ms` is how long the host kept this machine's processors from it during the row. Rows in which much was
stolen measure the host. Freeing gigabytes of page cache causes it on virtual machines: the host takes the memory back
two seconds later. So bytes are made cold once, before a row, and the row waits until that is over.

Needs build/release: booblik, bench/slow_sync_broker and bench/plain_writer, 12 GiB on a real disk for the time, and about
six minutes. tmpfs is refused.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import statistics
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
MIB = 1 << 20
GIB = 1 << 30
BULK_BYTES = 4 * GIB  # two sealed segments of 1.5 GiB and an active one
ALONE = "alone"
READER = "a consumer of cold data at full speed"
STALLED = "20 consumers that ask for 8 MiB each and stall"
RETENTION = "retention deletes a segment of 1.5 GiB"
SLOW = "every fsync of another partition takes 2 s"
PLAIN = "plain program, alone"
PLAIN_READER = "plain program, beside a plain reader of cold data"
PLAIN_STEPS = "plain program, 1.5 GiB deleted in steps of 4 MiB in 10 s"
PLAIN_WHOLE = "plain program, 1 GiB deleted in one call"
# What docs/benchmarks.md states: p99 is at most so many times that of alone, or so many milliseconds if that is more.
STATED = {
    "written": {READER: (4.0, 2.5), STALLED: (3.0, 1.5), RETENTION: (4.0, 2.0), SLOW: (3.0, 1.5)},
    "forced": {READER: (4.0, 8.0), STALLED: (3.0, 6.0), RETENTION: (4.0, 8.0), SLOW: (3.0, 6.0)},
}


@dataclass(frozen=True)
class Setup:
    program: str
    slow_broker: str
    plain_writer: str
    directory: Path
    seconds: float
    rate: int
    settle: float

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
    before = stolen_ms()
    done = subprocess.run(
        [setup.program, "bench-produce", "--broker", broker.address, "--topic", topic, "--connections", "1", "--batch", "1",
         "--rate", str(setup.rate), "--acks", acks, "--seconds", str(seconds), "--warm-up", "0.5", "--json"],
        check=True, capture_output=True, text=True, timeout=seconds + 60)
    found: dict[str, float] = json.loads(done.stdout)
    return found | {"stolen_ms": stolen_ms() - before}


def plain_load(setup: Setup, acks: str) -> dict[str, float]:
    before = stolen_ms()
    done = subprocess.run([setup.plain_writer, str(setup.directory / "plain.bin"), acks, str(setup.rate), str(setup.seconds)],
                          check=True, capture_output=True, text=True, timeout=setup.seconds + 60)
    found: dict[str, float] = json.loads(done.stdout)
    return found | {"stolen_ms": stolen_ms() - before}


@contextlib.contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Runs `command` beside the body, which ends it."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def logs(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.log"))


def stolen_ms() -> float:
    """Of all processors together (proc(5): the eighth number of the first line)."""
    return float(Path("/proc/stat").read_text().split()[8]) * 1000 / os.sysconf("SC_CLK_TCK")


def wait_for_the_host(most_seconds: float) -> None:
    """Until it has left our processors alone for three seconds."""
    end = time.monotonic() + most_seconds
    calm = 0
    while calm < 6 and time.monotonic() < end:
        before = stolen_ms()
        time.sleep(0.5)
        calm = calm + 1 if stolen_ms() - before < 20 else 0


def make_cold(setup: Setup) -> None:
    for path in logs(setup.data / "bulk-0"):
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    wait_for_the_host(setup.settle)


def fill_bulk(setup: Setup) -> None:
    """Synced, so that its pages can be dropped."""
    with serve(setup) as broker:
        while sum(path.stat().st_size for path in logs(setup.data / "bulk-0")) < BULK_BYTES:
            load_bulk(setup, broker)


def load_bulk(setup: Setup, broker: Broker) -> None:
    subprocess.run([setup.program, "bench-produce", "--broker", broker.address, "--topic", "bulk", "--connections", "1",
                    "--batch", "100", "--record-bytes", "10000", "--depth", "4", "--seconds", "0.5", "--warm-up", "0",
                    "--json"], check=True, capture_output=True, timeout=60)


Row = tuple[str, dict[str, float]]


def beside_readers(setup: Setup, acks: str) -> Iterator[Row]:
    make_cold(setup)
    with serve(setup) as broker:
        yield ALONE, load(setup, broker, acks)
        seconds = setup.seconds + 0.5
        with running([setup.program, "bench-fetch", "--broker", broker.address, "--topic", "bulk", "--seconds", str(seconds),
                      "--json"]) as reader:
            found = load(setup, broker, acks)
            output = reader.communicate(timeout=60)[0]
        taken = json.loads(output)["bytes_per_second"] * seconds
        if taken > BULK_BYTES:
            print(f"isolation.py: the reader read {taken / GIB:.1f} GiB, so the last of it was not cold", file=sys.stderr)
        yield READER, found
        with stalled_consumers(broker, 20):
            yield STALLED, load(setup, broker, acks)


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
    """The first segment goes from when the warm-up ends; giving its space back takes longer than the row."""
    with serve(setup, "--retention-bytes=2048MiB", "--retention-check-millis=500") as broker:
        found = load(setup, broker, acks)
        if not any("retention removed 1 segment" in line for line in broker.output):
            raise SystemExit("retention has not removed one segment during the measurement")
        yield RETENTION, found


def beside_slow_sync(setup: Setup, acks: str) -> Iterator[Row]:
    with Broker([setup.slow_broker, str(setup.directory / "slow"), "2000"]) as broker:
        with running([setup.program, "bench-produce", "--broker", broker.address, "--topic", "slow", "--connections", "4",
                      "--acks", "forced", "--rate", "1000", "--seconds", str(setup.seconds + 5)]):
            yield SLOW, load(setup, broker, acks)
        if load(setup, broker, "forced", topic="slow", seconds=3)["p99_us"] < 1e6:
            raise SystemExit("the slow partition is not slow")
        broker.process.kill()  # in good order it would wait for the slow partition


class Plain:
    """Does something heavy on a thread, without a broker."""

    def __init__(self) -> None:
        self._ended = threading.Event()

    @contextlib.contextmanager
    def reading(self, paths: list[Path]) -> Iterator[None]:
        with self._beside(lambda: self._read(paths)):
            yield

    @contextlib.contextmanager
    def deleting(self, path: Path, step: int, pause: float) -> Iterator[None]:
        with self._beside(lambda: self._delete(path, step, pause)):
            yield

    @contextlib.contextmanager
    def _beside(self, work: Callable[[], None]) -> Iterator[None]:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join(60)

    def _read(self, paths: list[Path]) -> None:
        """In pieces of 512 KiB."""
        for path in paths:
            with open(path, "rb", buffering=0) as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
                while not self._ended.is_set() and file.read(512 * 1024):
                    pass

    def _delete(self, path: Path, step: int, pause: float) -> None:
        time.sleep(0.2)
        with open(path, "r+b", buffering=0) as file:
            path.unlink()
            size = os.fstat(file.fileno()).st_size
            while size > 0 and not self._ended.is_set():
                size = max(size - step, 0)
                os.ftruncate(file.fileno(), size)
                self._ended.wait(pause)


def without_broker(setup: Setup, acks: str) -> Iterator[Row]:
    make_cold(setup)
    yield PLAIN, plain_load(setup, acks)
    paths = logs(setup.data / "bulk-0")
    with Plain().reading(paths):
        yield PLAIN_READER, plain_load(setup, acks)
    with Plain().deleting(paths[0], step=4 * MIB, pause=10 * 4 * MIB / (1536 * MIB)):
        yield PLAIN_STEPS, plain_load(setup, acks)
    with Plain().deleting(paths[1], step=GIB * 2, pause=0):
        yield PLAIN_WHOLE, plain_load(setup, acks)


def measure(setup: Setup, acks: str) -> Iterator[Row]:
    fill_bulk(setup)
    yield from beside_readers(setup, acks)
    yield from beside_retention(setup, acks)
    yield from beside_slow_sync(setup, acks)
    yield from without_broker(setup, acks)


def run_once(setup: Setup, acks: str, found: dict[str, list[dict[str, float]]]) -> None:
    for name, row in measure(setup, acks):
        found.setdefault(name, []).append(row)
        print(f"isolation.py: {acks}, {name}: p99 {row['p99_us'] / 1000:.2f} ms, stolen {row['stolen_ms']:.0f} ms", file=sys.stderr, flush=True)


def report(acks: str, found: dict[str, list[dict[str, float]]]) -> list[str]:
    """Prints the rows; returns those that exceed what is stated."""
    def middle(name: str, what: str) -> float:
        return statistics.median(run[what] for run in found[name])

    exceeding = []
    for name in found:
        alone = middle(PLAIN if name.startswith("plain") else ALONE, "p99_us")
        p99 = middle(name, "p99_us")
        print(f"| {acks} | {name} | {middle(name, 'p50_us') / 1000:.2f} | {p99 / 1000:.2f} | {p99 / alone:.1f} | "
              f"{middle(name, 'p999_us') / 1000:.1f} | {middle(name, 'stolen_ms'):.0f} |", flush=True)
        factor, least_ms = STATED[acks].get(name, (float("inf"), 0.0))
        if p99 > max(factor * alone, least_ms * 1000):
            exceeding.append(f"{acks} beside {name} ({p99 / alone:.1f} x, {p99 / 1000:.2f} ms; stated {factor:g} x or {least_ms:g} ms)")
    return exceeding


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/booblik"), help="the booblik program (%(default)s)")
    parser.add_argument("--slow-broker", default=str(ROOT / "build/release/bench/slow_sync_broker"), help="(%(default)s)")
    parser.add_argument("--plain-writer", default=str(ROOT / "build/release/bench/plain_writer"), help="(%(default)s)")
    parser.add_argument("--directory", default=str(ROOT / "build"), help="on a real disk (%(default)s)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement (%(default)g)")
    parser.add_argument("--runs", type=int, default=2, help="of which the medians are printed (%(default)d)")
    parser.add_argument("--settle", type=float, default=20.0, help="longest wait for the host after bytes were made cold (%(default)g s)")
    parser.add_argument("--rate", type=int, default=2000, help="requests a second on the quiet partition (%(default)d)")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    kind = subprocess.run(["stat", "-f", "-c", "%T", arguments.directory], check=True, capture_output=True, text=True)
    if kind.stdout.strip() in ("tmpfs", "ramfs"):
        print(f"isolation.py: {arguments.directory} is on {kind.stdout.strip()}, which says nothing about a disk", file=sys.stderr)
        return 2
    if shutil.disk_usage(arguments.directory).free < 12 * GIB:
        print(f"isolation.py: {arguments.directory} has less than 12 GiB free", file=sys.stderr)
        return 2
    found: dict[str, dict[str, list[dict[str, float]]]] = {"written": {}, "forced": {}}
    for _ in range(arguments.runs):
        for acks, rows in found.items():
            directory = Path(tempfile.mkdtemp(prefix="isolation-", dir=arguments.directory))
            try:
                run_once(Setup(arguments.program, arguments.slow_broker, arguments.plain_writer, directory, arguments.seconds,
                               arguments.rate, arguments.settle), acks, rows)
            finally:
                shutil.rmtree(directory, ignore_errors=True)
    print("| acks | beside | p50 ms | p99 ms | p99 / alone | p99.9 ms | stolen ms |\n|---|---|---|---|---|---|---|")
    exceeding = [row for acks, rows in found.items() for row in report(acks, rows)]
    print("\nExceeds what is stated: " + ("; ".join(exceeding) if exceeding else "no row") + ".")
    return 1 if exceeding else 0


if __name__ == "__main__":
    sys.exit(main())
