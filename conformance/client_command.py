"""Runs a client's command line (README.md) and reads its answer."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from typing import Sequence

from booblik_socket import Misbehaviour
from booblik_wire import Code

REFUSALS = {code.name for code in Code if code is not Code.NONE}
RESULTS = {"name", "partition", "logStartOffset", "highWatermark", "baseOffset", "logEndOffset", "record", "recordExceedsMaxBytes"}


@dataclass(frozen=True)
class Answer:
    call: str  # for sentences about it
    exit_code: int
    lines: tuple[tuple[str, str], ...]
    complaint: str  # standard error

    def wrong(self, sentence: str) -> Misbehaviour:
        said = ", ".join(f"{key}={value[:60]}" for key, value in self.lines) or "nothing"
        complaint = f"; standard error: {self.complaint.strip()[-300:]}" if self.complaint.strip() else ""
        return Misbehaviour(f"{self.call}: {sentence}. It printed {said} and ended with {self.exit_code}{complaint}")

    def require(self, condition: bool, sentence: str) -> None:
        if not condition:
            raise self.wrong(sentence)

    def values(self, key: str) -> list[str]:
        return [value for name, value in self.lines if name == key]

    def numbers(self, key: str) -> list[int]:
        try:
            return [int(value) for value in self.values(key)]
        except ValueError:
            raise self.wrong(f"{key} is not a number") from None

    def records(self) -> list[bytes]:
        try:
            return [bytes.fromhex(value) for value in self.values("record")]
        except ValueError:
            raise self.wrong("a record is not hexadecimal") from None

    def has(self, **expected: int) -> None:
        """Carried out, and each key is there once with this value."""
        self.carried_out()
        for key, value in expected.items():
            self.require(self.numbers(key) == [value], f"expected {key}={value}")

    def carried_out(self) -> None:
        self.require(self.exit_code == 0 and not self.values("error"), "expected exit 0 without an error")

    def silent(self) -> None:
        self.carried_out()
        self.require(not self._results(), "expected no result")

    def refused(self, name: str) -> None:
        self.require(self.exit_code == 0, "a refusal ends with exit 0")
        self.require(self.values("error") == [name], f"expected error={name}")
        self.require(not self._results(), "a refusal comes without a result")

    def not_carried_out(self) -> None:
        self.require(self.exit_code == 1, "expected exit 1, the verb cannot have been carried out")
        self.require(not self._results(), "nothing may look like a result")
        self.require(not REFUSALS.intersection(self.values("error")), "no broker has refused anything")

    def misused(self) -> None:
        self.require(self.exit_code == 2, "expected exit 2 for wrong usage")
        self.require(not self.lines, "expected nothing on standard output")

    def _results(self) -> bool:
        return any(key in RESULTS for key, _ in self.lines)


@dataclass(frozen=True)
class ClientCommand:
    command: Sequence[str]
    verb_seconds: float = 20.0  # a verb has to end by itself within this

    def run(self, broker: str, verb: str, *arguments: str, timeout_ms: int | None = None) -> Answer:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BOOBLIK_")}
        environment["BOOBLIK_BROKER"] = broker
        if timeout_ms is not None:
            environment["BOOBLIK_TIMEOUT_MS"] = str(timeout_ms)
        call = " ".join([verb, *(argument[:40] or "''" for argument in arguments)])
        process = subprocess.Popen(
            [*self.command, verb, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # so that a client behind a shell ends with it
        )
        try:
            output, complaint = process.communicate(timeout=self.verb_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Misbehaviour(f"{call}: did not end within {self.verb_seconds:g} s") from None
        return Answer(call, process.returncode, lines_of(call, output), complaint.decode(errors="replace"))


def lines_of(call: str, output: bytes) -> tuple[tuple[str, str], ...]:
    try:
        text = output.decode()
    except UnicodeDecodeError:
        raise Misbehaviour(f"{call}: standard output is not UTF-8") from None
    lines = []
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if not equals or not key:
            raise Misbehaviour(f"{call}: '{line[:80]}' is not key=value")
        lines.append((key, value))
    return tuple(lines)
