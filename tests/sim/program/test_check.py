"""sim/check.py: it passes what is good, and fails for each of its reasons."""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "sim"))

import check  # noqa: E402

# Stands in for booblik-sim: a line a seed, and a probe; the environment says what goes wrong.
FAKE = """#!/usr/bin/env python3
import os, sys
arguments = sys.argv[1:]
mode = arguments[arguments.index("--mode") + 1]
first, last = (arguments[1].split("..") * 2)[:2]
bad = os.environ.get("FAKE_BAD", "")
for seed in range(int(first), int(last) + 1):
    mark = f"{mode} {seed}"
    fingerprint = "f" * 16 if os.environ.get("FAKE_OTHER") == mark and "other" in sys.argv[0] else "0" * 16
    print(seed, mode, fingerprint, "safety" if bad == mark else os.environ.get("FAKE_RESULT", "ok"))
print("probe a.rare.path 3")
sys.exit(2 if bad.startswith(mode + " ") and int(first) <= int(bad.split()[1]) <= int(last) else 0)
"""


class WithAFakeProgram(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("program", "other"):
            (self.folder / name).write_text(FAKE, encoding="utf-8")
            (self.folder / name).chmod(stat.S_IRWXU)
        (self.folder / "regressions").write_text("# mode seed\ncrash 578  why\nany 227\n", encoding="utf-8")
        (self.folder / "probe_runs").write_text("# why\nrot 3 a.rare.path x=1\n", encoding="utf-8")
        (self.folder / "probes").write_text("# why\na.rare.path\n", encoding="utf-8")

    def run_check(self, **environment):
        done = subprocess.run(
            [sys.executable, str(TOP / "sim/check.py"), "--program", str(self.folder / "program"), "--other", str(self.folder / "other"),
             "--regressions", str(self.folder / "regressions"), "--must-hit", str(self.folder / "probes"),
             "--probe-runs", str(self.folder / "probe_runs"),
             "--commit", "0123456789abcdef" + "0" * 24, "--fixed", "50", "--of-commit", "20", "--compared", "10"],
            capture_output=True, text=True, check=False, env=os.environ | environment)
        return done.returncode, done.stdout + done.stderr

    def test_passes(self):
        code, text = self.run_check()
        self.assertEqual(code, 0, text)
        # 2 regressions, 50 and 20 seeds, 10 in the other build, a run for a probe, and one probe.
        self.assertIn("84 passed, 0 failed, 0 vacuous", text)
        self.assertIn("81985529216486895..81985529216486914", text)

    def test_a_regression_fails(self):
        code, text = self.run_check(FAKE_BAD="crash 578")
        self.assertEqual(code, 1)
        self.assertIn("regression crash 578: exit code 2, 1 of 1 seeds failed", text)

    def test_a_fixed_seed_fails(self):
        code, text = self.run_check(FAKE_BAD="network 9")
        self.assertEqual(code, 1)
        self.assertIn("network 9" if "network 9" in text else "9 network", text)
        self.assertIn("83 passed, 1 failed", text)

    def test_a_fingerprint_differs_in_the_other_build(self):
        code, text = self.run_check(FAKE_OTHER="rot 2")
        self.assertEqual(code, 1)
        self.assertIn("seed 2 of mode rot: 0000000000000000 ok here, ffffffffffffffff ok in the other build", text)

    def test_a_run_for_a_probe_does_not_hit_it(self):
        (self.folder / "probe_runs").write_text("rot 3 a.rare.path,another.path x=1\n", encoding="utf-8")
        code, text = self.run_check()
        self.assertEqual(code, 1)
        self.assertIn("probe another.path was not hit by its own run, --mode rot --seed 3", text)

    def test_a_probe_is_not_hit(self):
        (self.folder / "probes").write_text("a.rare.path\nanother.path\n", encoding="utf-8")
        code, text = self.run_check()
        self.assertEqual(code, 1)
        self.assertIn("probe another.path was never hit", text)

    def test_too_many_runs_compare_nothing(self):
        code, text = self.run_check(FAKE_RESULT="vacuous")
        self.assertEqual(code, 1)
        self.assertIn("runs compared nothing", text)

    def test_a_program_that_is_not_there(self):
        (self.folder / "other").unlink()
        code, text = self.run_check()
        self.assertEqual(code, 2)
        self.assertIn("./dev sim builds", text)


class Seeds(unittest.TestCase):
    def test_of_a_commit(self):
        self.assertEqual(check.seeds_of_commit("0" * 15 + "a" + "f" * 24, 3), range(10, 13))
        self.assertEqual(check.seeds_of_commit("f" * 40, 3)[-1], 2**64 - 1)

    def test_the_checked_in_lists_can_be_read(self):
        self.assertGreater(len(check.read_regressions(TOP / "sim/regressions")), 3)
        self.assertGreater(len(check.read_names(TOP / "sim/must_hit_probes.txt")), 20)


if __name__ == "__main__":
    unittest.main()
