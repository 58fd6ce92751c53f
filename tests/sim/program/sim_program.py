"""Runs booblik-sim as a process, for its tests."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass

PROGRAM = os.environ["BOOBLIK_SIM"]
TIMEOUT_SECONDS = 240

RESULT_LINE = re.compile(
    r"^seed=(?P<seed>\d+) commit=(?P<commit>[0-9a-f]{40}(-dirty)?|unknown) build=(?P<build>\S+) events=(?P<events>\d+)"
    r" virtual_s=(?P<virtual_s>\d+) fingerprint=(?P<fingerprint>[0-9a-f]{16}) result=(?P<result>\w+)( \S+=\S+)*$",
    re.MULTILINE)


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def last_line(self) -> str:
        return self.out.splitlines()[-1]

    def result(self) -> dict[str, str]:
        """The fields of the last line."""
        found = RESULT_LINE.match(self.last_line)
        assert found, self.out
        return found.groupdict()

    def replay(self) -> list[str]:
        """The arguments of the replay command that the run printed last."""
        return shlex.split(re.findall(r"^replay: (.*)$", self.out, re.MULTILINE)[-1])[1:]


def run(*arguments: str) -> Ran:
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)
