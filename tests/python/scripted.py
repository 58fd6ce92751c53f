"""What the tests of the Python client share: brokers to talk to, real and scripted."""

from __future__ import annotations

import struct
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "conformance", ROOT / "conformance" / "python", ROOT / "tests" / "process"):
    sys.path.insert(0, str(folder))

import booblik_wire as wire  # noqa: E402
from harness import LARGE, PROGRAM, Broker, ProcessTest, wait_until  # noqa: E402
from scripted_broker import NOTHING, Reply, Script, ScriptedBroker  # noqa: E402

__all__ = ["LARGE", "NOTHING", "PROGRAM", "ROOT", "Broker", "ProcessTest", "Reply", "Script", "ScriptedBroker", "ScriptedTest", "wait_until", "wire"]


class ScriptedTest(unittest.TestCase):
    def scripted(self, script: Script) -> ScriptedBroker:
        broker = ScriptedBroker(script)
        self.addCleanup(broker.__exit__)
        return broker

    def folder(self) -> Path:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Path(folder.name)


def at(broker: ScriptedBroker | Broker) -> str:
    return f"127.0.0.1:{broker.port}"


# What a broker may not do to a PRODUCE, by what it is.
HOSTILE = {
    "another correlation id": lambda frame: Reply([frame[:4] + b"\x7f" + frame[5:]]),
    "a frame of 8 MiB and a byte": lambda frame: Reply([struct.pack(">i", wire.FRAME_LENGTH_MAX + 1) + frame[4:]]),
    "a negative frame length": lambda frame: Reply([struct.pack(">i", -1) + frame[4:]]),
    "an unknown error code": lambda frame: Reply([struct.pack(">i", 6) + frame[4:8] + struct.pack(">h", 9)]),
    "a byte too many": lambda frame: Reply([struct.pack(">i", len(frame) - 3) + frame[4:] + b"\0"]),
    "a byte too few": lambda frame: Reply([struct.pack(">i", len(frame) - 5) + frame[4:-1]]),
    "an answer too many": lambda frame: Reply([frame + frame]),
}
