"""The lives of the broker: how one is started, and the ways in which one ends. Each leaves no process behind."""

from __future__ import annotations

import mmap
import random
import signal
import socket
import struct
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "process"))

import harness  # noqa: E402
from check import TOPIC, Violation  # noqa: E402
from places import Place, SmallDisk  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
LOGS_KEPT = 40
HOUR_NS = 3600 * 10**9


def free_port(draw: random.Random) -> int:
    """Below the ports that the kernel gives to clients: connecting to one of those while nobody listens may reach oneself."""
    for _ in range(100):
        port = draw.randrange(20_000, 30_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port between 20000 and 30000")


class Clock:
    """The broker's wall clock, shifted by a library that is preloaded. `shift_library` None: it runs as it is."""

    def __init__(self, file: Path, shift_library: Path | None) -> None:
        self.library = shift_library
        file.write_bytes(bytes(8))
        self._file = file
        with open(file, "r+b") as opened:
            self._shift = mmap.mmap(opened.fileno(), 8)

    def command_prefix(self) -> list[str]:
        if self.library is None:
            return []
        return ["/usr/bin/env", f"LD_PRELOAD={self.library}", f"CLOCK_SHIFT_FILE={self._file}"]

    def jump(self, nanoseconds: int) -> None:
        struct.pack_into("=q", self._shift, 0, nanoseconds)


class Lives:
    def __init__(self, draw: random.Random, logs: Path, partitions: int, clock: Clock) -> None:
        self.draw = draw
        self.logs = logs
        self.partitions = partitions
        self.clock = clock
        self.port = free_port(draw)
        self.broker: harness.Broker | None = None
        self.started = 0
        self.endings: Counter[str] = Counter()
        self.start_seconds_max = 0.0
        self.retention_bytes_now = 0  # of the life that was started last

    # --- beginning ---

    def settings(self, place: Place) -> dict[str, object]:
        """They may change at every start."""
        small = isinstance(place, SmallDisk)
        return {
            "segment_capacity_bytes": self.draw.choice((64 * KIB, 256 * KIB, MIB, 4 * MIB)),
            "retention_bytes": self.draw.choice((MIB, 2 * MIB, 4 * MIB) if small else (MIB, 4 * MIB, 12 * MIB)),
            "retention_check_millis": self.draw.choice((50, 500, 5000)),
            "index_interval_bytes": self.draw.choice((64, 1024, 4096)),
            "flush_every_millis": self.draw.choice((20, 200, 1000)),
            "flush_every_bytes": self.draw.choice((64 * KIB, 64 * MIB)),
            "limit_open_segment_files": self.draw.choice((1, 4, 64)),
            "limit_index_cache_bytes": self.draw.choice((64 * KIB, 32 * MIB)),
            "metrics_interval_millis": 1000,
        }

    def start(self, place: Place, wait: bool = True) -> harness.Broker:
        settings = self.settings(place)
        kept = int(str(settings["retention_bytes"]))
        self.retention_bytes_now = kept
        place.retention_bytes = min(kept, place.retention_bytes or kept)
        command = self.clock.command_prefix() + [harness.PROGRAM, "serve", f"--port={self.port}", f"--data-dir={place.data}"]
        command += [f"--topics={TOPIC}:{self.partitions}"]
        command += [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
        self.started += 1
        try:
            self.broker = harness.Broker(place.data, command=command, expect_start=False)
            if wait:
                self.broker.wait_until_listening()
        except harness.StartFailed as error:
            raise Violation(f"the broker did not start: {error}") from error
        if wait:
            self.start_seconds_max = max(self.start_seconds_max, self.broker.start_seconds)
        return self.broker

    # --- ending ---

    def _ended(self, how: str) -> None:
        assert self.broker is not None
        broker, self.broker = self.broker, None
        self.endings[how] += 1
        broker.output.join()
        (self.logs / f"{self.started:06}.log").write_text(f"{' '.join(broker.command)}\n{broker.output.text()}\nended: {how}\n")
        (self.logs / f"{self.started - LOGS_KEPT:06}.log").unlink(missing_ok=True)

    def _alive(self) -> harness.Broker:
        assert self.broker is not None
        code = self.broker.process.poll()
        if code is not None:
            self._ended(f"by itself, {code}")
            raise Violation(f"the broker ended by itself with code {code}: see the newest file in {self.logs}")
        return self.broker

    def kill(self, how: str = "SIGKILL") -> None:
        self._alive().kill()
        self._ended(how)

    def terminate(self) -> None:
        broker = self._alive()
        try:
            code = broker.stop()
        except AssertionError as error:
            self._ended("SIGTERM, killed")
            raise Violation(f"SIGTERM: {error}") from error
        self._ended("SIGTERM")
        if code != 0:
            raise Violation(f"SIGTERM ended the broker with code {code}: see the newest file in {self.logs}")

    def terminate_then_kill(self) -> None:
        broker = self._alive()
        broker.signal(signal.SIGTERM)
        time.sleep(self.draw.uniform(0, 0.05))
        broker.kill()
        self._ended("SIGKILL in a stop")

    def pause(self) -> None:
        """Stopped in the middle of everything; it goes on as if nothing had been, or is killed as it stands."""
        broker = self._alive()
        broker.signal(signal.SIGSTOP)
        time.sleep(self.draw.uniform(0.05, 1.0))
        if self.draw.random() < 0.5:
            broker.kill()
            self._ended("SIGKILL while stopped")
            return
        broker.signal(signal.SIGCONT)
        time.sleep(self.draw.uniform(0, 0.5))
        self.kill("SIGKILL after SIGSTOP and SIGCONT")

    def kill_in_recovery(self, place: Place) -> None:
        self.kill()
        for _ in range(self.draw.randint(1, 4)):
            broker = self.start(place, wait=False)
            time.sleep(self.draw.uniform(0, 1.5 * max(0.02, min(self.start_seconds_max, 1.0))))
            self._alive()
            broker.kill()
            self._ended("SIGKILL in recovery")

    def jump_clock(self) -> None:
        for _ in range(3):
            self._alive()
            self.clock.jump(self.draw.choice((-1, 1)) * self.draw.choice((1, 24, 24 * 365)) * HOUR_NS)
            time.sleep(self.draw.uniform(0.05, 0.3))
        self.kill("SIGKILL after clock jumps")

    def end(self, place: Place) -> None:
        """One of them, drawn."""
        ways = [self.kill, self.kill, self.kill, self.terminate, self.terminate_then_kill, self.pause]
        ways.append(lambda: self.kill_in_recovery(place))
        if self.clock.library is not None:
            ways.append(self.jump_clock)
        self.draw.choice(ways)()

    def abandon(self) -> None:
        """At the end of the soak, or when it has failed: what is on the disk stays as it is."""
        if self.broker is not None:
            self.broker.kill()
            self._ended("SIGKILL by the end of the soak")
