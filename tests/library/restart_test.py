"""A broker that is killed and started again under a running producer and consumer of the C++ library.

    restart_test.py RESTART_PROGRAM BROKER_PROGRAM
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, BROKER = sys.argv[1:3]
RESTARTS = 3


def start_broker(data: Path, port: int) -> tuple[subprocess.Popen[str], int]:
    broker = subprocess.Popen([BROKER, "serve", f"--port={port}", f"--data-dir={data}", "--topics=t:1"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert broker.stdout is not None
    for line in broker.stdout:
        found = re.search(r"booblik listening on \S+:(\d+)", line)
        if found:
            return broker, int(found.group(1))
    raise AssertionError(f"the broker ended with {broker.wait()}")


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None and not stream.closed:
            stream.close()


class Restart(unittest.TestCase):
    def test_every_outcome_is_told_and_nothing_acknowledged_is_lost(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="restart-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        broker, port = start_broker(folder / "data", 0)
        self.addCleanup(lambda: end(broker))  # the last one
        program = subprocess.Popen([PROGRAM, f"127.0.0.1:{port}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(end, program)
        assert program.stdin is not None and program.stdout is not None
        self.assertEqual(program.stdout.readline(), "written\n")
        for _ in range(RESTARTS):
            end(broker)
            broker, _ = start_broker(folder / "data", port)
            self.assertEqual(program.stdout.readline(), "connected again\n")
            self.assertEqual(program.stdout.readline(), "written\n")
        said, _ = program.communicate(timeout=60)
        self.assertEqual(program.returncode, 0, said)
        self.assertRegex(said, r"(?m)^acknowledged=\d+$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
