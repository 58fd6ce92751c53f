"""Starts a booblik of one's own for a run of the kit: on loopback, on any free port, with its data in a folder that goes with it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

_LISTENING = re.compile(rb"booblik listening on (\S+):(\d+)")
START_SECONDS = 20.0
STOP_SECONDS = 10.0


class NoBroker(Exception):
    """The text says what to do."""


def find_program() -> str:
    """BOOBLIK_PROGRAM, the release build of this tree, or whatever is installed."""
    built = Path(__file__).resolve().parents[1] / "build" / "release" / "booblik"
    named = os.environ.get("BOOBLIK_PROGRAM") or (str(built) if built.is_file() else shutil.which("booblik"))
    if named is None:
        raise NoBroker("there is no booblik: build it (./dev build), set BOOBLIK_PROGRAM, or name a running broker (--broker)")
    return named


class LocalBroker:
    def __init__(self, topics: str, segment_bytes: int) -> None:
        self._folder = tempfile.mkdtemp(prefix="booblik-conformance-")
        command = [find_program(), "serve", "--bind-address=127.0.0.1", "--port=0", f"--topics={topics}"]
        command += [f"--data-dir={self._folder}/data", f"--segment-capacity-bytes={segment_bytes}"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BOOBLIK_")}
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
            )
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise NoBroker(f"{command[0]}: {error}") from error
        timer = threading.Timer(START_SECONDS, self._process.kill)
        timer.start()
        self.host, self.port = self._wait_until_listening()
        timer.cancel()
        # Its log has to go somewhere, or the broker would wait for a reader.
        threading.Thread(target=self._drain, daemon=True).start()

    def _wait_until_listening(self) -> tuple[str, int]:
        assert self._process.stdout is not None
        said = b""
        for line in self._process.stdout:
            said += line
            found = _LISTENING.search(line)
            if found:
                return found.group(1).decode(), int(found.group(2))
        self.__exit__()
        raise NoBroker(f"the broker did not start:\n{said.decode(errors='replace')}")

    def _drain(self) -> None:
        assert self._process.stdout is not None
        for _ in self._process.stdout:
            pass

    def __enter__(self) -> LocalBroker:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
