"""Starts, watches and stops one broker process for a test.

BOOBLIK_PROGRAM is the program under test, BOOBLIK_TEST_DIR a folder on a real file system (not tmpfs). Nothing here waits by
sleeping: a start is over when the line with the address is read, a stop when the process has ended.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import IO, Callable, Sequence

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "conformance"))

from booblik_socket import Connection, Misbehaviour  # noqa: E402

START_SECONDS = 30.0
STOP_SECONDS = 30.0
WHOLE_RUN_SECONDS = int(os.environ.get("BOOBLIK_TEST_SECONDS", "300"))
LARGE = os.environ.get("BOOBLIK_TEST_LARGE") == "1"  # the counts of a long run
SANITIZED = os.environ.get("BOOBLIK_SANITIZED") == "1"  # timing and memory then say nothing
PROGRAM = os.environ.get("BOOBLIK_PROGRAM", str(ROOT / "build/release/booblik"))

_LISTENING = re.compile(r"booblik listening on (\S+):(\d+)")
_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def test_directory() -> Path:
    base = Path(os.environ.get("BOOBLIK_TEST_DIR", ROOT / "build"))
    base.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="process-", dir=base))


class Lines:
    """What a process prints, collected by a thread; a reader may wait for a line."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._changed = threading.Condition()
        self._lines: list[str] = []
        self._ended = False
        self._thread = threading.Thread(target=self._collect, args=(stream,), daemon=True)
        self._thread.start()

    def _collect(self, stream: IO[bytes]) -> None:
        for raw in stream:
            with self._changed:
                self._lines.append(raw.decode(errors="replace").rstrip("\n"))
                self._changed.notify_all()
        stream.close()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_for(self, pattern: str | re.Pattern[str], seconds: float, start: int = 0) -> re.Match[str] | None:
        """The first match in the lines from `start` on; None when the output ends or the time is over before it."""
        deadline = time.monotonic() + seconds
        at = start
        with self._changed:
            while True:
                for line in self._lines[at:]:
                    found = re.search(pattern, line)
                    if found:
                        return found
                at = len(self._lines)
                left = deadline - time.monotonic()
                if self._ended or left <= 0:
                    return None
                self._changed.wait(left)

    def join(self) -> None:
        self._thread.join(5)

    def __len__(self) -> int:
        return len(self._lines)

    def text(self) -> str:
        with self._changed:
            return "\n".join(self._lines)


class StartFailed(Exception):
    pass


class Broker:
    """`settings` are the flags of `booblik serve`: segment_capacity_bytes=4096 is --segment-capacity-bytes 4096."""

    def __init__(
        self,
        data: Path,
        topics: str = "orders:3,a:1",
        *,
        command: Sequence[str] | None = None,
        descriptors: int | None = None,
        expect_start: bool = True,
        **settings: object,
    ) -> None:
        self.data = data
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
        self.command = list(
            command
            or [PROGRAM, "serve", "--bind-address=127.0.0.1", "--port=0", f"--data-dir={data}", f"--topics={topics}", *flags]
        )
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BOOBLIK_")}

        def prepare() -> None:
            _die_with_parent()
            if descriptors is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        self.started_at = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=prepare,
            env=environment,
            cwd=data.parent,
        )
        assert self.process.stdout is not None
        self.output = Lines(self.process.stdout)
        self.host, self.port = "127.0.0.1", 0
        if expect_start:
            self.wait_until_listening()

    def __enter__(self) -> Broker:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_until_listening(self, seconds: float = START_SECONDS) -> None:
        found = self.output.wait_for(_LISTENING, seconds)
        if found is None:
            self.kill()
            raise StartFailed(f"{' '.join(self.command)}\nended with {self.process.returncode}\n{self.output.text()}")
        self.start_seconds = time.monotonic() - self.started_at
        self.host, self.port = found.group(1), int(found.group(2))

    def connect(self, timeout: float = 20.0, receive_buffer: int | None = None) -> Connection:
        return Connection(self.host, self.port, timeout, receive_buffer)

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        """The exit code; a process that does not end in time is killed, and that is an error."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the broker did not end within {seconds:g} s\n{self.output.text()}") from None
        self.output.join()
        return code

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.output.join()

    def serves(self) -> bool:
        """Whether a new connection is answered."""
        try:
            with self.connect() as connection:
                connection.expect_open()
            return True
        except (Misbehaviour, OSError):
            return False

    # --- what the kernel says about the process ---

    def resident_bytes(self) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None, status
        return int(found.group(1)) * 1024

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def open_descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))


class ProcessTest(unittest.TestCase):
    """A folder of its own for each test, and every broker ended behind it. A failure shows what the brokers printed."""

    def setUp(self) -> None:
        faulthandler.dump_traceback_later(WHOLE_RUN_SECONDS, exit=True)
        self.directory = test_directory()
        self.data = self.directory / "data"
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self._brokers: list[Broker] = []
        self.addCleanup(self._end_brokers)

    def serve(self, topics: str = "orders:3,a:1", **settings: object) -> Broker:
        broker = Broker(self.data, topics, **settings)  # type: ignore[arg-type]
        self._brokers.append(broker)
        return broker

    def _end_brokers(self) -> None:
        for broker in self._brokers:
            broker.kill()
        if self._failed():
            for broker in self._brokers:
                print(f"--- {' '.join(broker.command)}\n{broker.output.text()}\n---", file=sys.stderr)
        faulthandler.cancel_dump_traceback_later()

    def _failed(self) -> bool:
        # Python 3.11 keeps this private, and another version may not have it.
        outcome = getattr(self, "_outcome", None)
        return outcome is not None and not outcome.success


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
    """For what the kernel alone knows and nobody announces: looked at again and again, with an end."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        time.sleep(0.002)
