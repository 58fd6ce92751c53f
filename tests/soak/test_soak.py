"""The soak itself: a short one passes, and one in which a promise is broken on purpose does not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOAK = Path(__file__).with_name("soak.py")
SANITIZED = os.environ.get("BOOBLIK_SANITIZED") == "1"

# What the message has to say, by what was broken.
PLANTS = {
    "flipped_byte": r"nobody sent|cannot be read|is gone|now it is",
    "lost_tail": r"is gone|now it is|log ends at",
    "doubled_record": r"comes behind|nobody sent|was not sent",
    "forgotten_record": r"was not sent to this partition",
    "invented_ack": r"was acknowledged",
}


class SoakTest(unittest.TestCase):
    def setUp(self) -> None:
        base = Path(os.environ.get("BOOBLIK_TEST_DIR", SOAK.parents[2] / "build"))
        base.mkdir(parents=True, exist_ok=True)
        self.directory = Path(tempfile.mkdtemp(prefix="soak-test-", dir=base))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def soak(self, *more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(SOAK), "--dir", str(self.directory), "--life-seconds", "0.3", "--rate", "60", *more]
        library = os.environ.get("BOOBLIK_CLOCK_SHIFT")
        if library and not SANITIZED:  # a sanitizer's runtime has to be the first library
            command += ["--clock-shift", library]
        return subprocess.run(command, capture_output=True, text=True, timeout=240)

    def test_a_short_one_passes_and_leaves_nothing(self) -> None:
        done = self.soak("--minutes", "0.1", "--seed", "3")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"soak: ok")
        found = re.search(r"checked (\d+) stored records.* (\d+) acknowledged", done.stdout)
        assert found is not None, done.stdout
        self.assertGreater(int(found[1]), 0)
        self.assertGreater(int(found[2]), 0)
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_a_broken_promise_is_noticed_and_its_evidence_is_kept(self) -> None:
        def one(plant: str) -> subprocess.CompletedProcess[str]:
            return self.soak("--minutes", "2", "--seed", plant, "--plant", plant)

        with ThreadPoolExecutor(2) as pool:
            for plant, done in zip(PLANTS, pool.map(one, PLANTS)):
                with self.subTest(plant=plant):
                    self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                    self.assertRegex(done.stdout, "FAILED: a promise was broken: .*(" + PLANTS[plant] + ")")
                    folder = Path(done.stdout.rsplit("see ", 1)[1].strip())
                    self.assertIn("a promise was broken", (folder / "failure.txt").read_text())
                    self.assertTrue(list(folder.glob("round-*/produce-*.journal")), "the journals are kept")
                    self.assertTrue(list(folder.glob("*/data/soak-0/*.log")) + list(folder.glob("small-data/data/soak-0/*.log")))
                    self.assertTrue(list((folder / "logs").glob("*.log")), "so is what the broker printed")

    def test_wrong_arguments_are_refused(self) -> None:
        done = self.soak("--minutes", "0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--minutes", done.stderr)


if __name__ == "__main__":
    unittest.main()
