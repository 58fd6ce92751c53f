"""The mutants still apply and say what they are; the lists of probes and the code agree. Builds nothing."""

import re
import sys
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "sim/mutants"))

from patches import MutantError, apply_problem, read_mutant, read_mutants  # noqa: E402
from run import ranges, reason_of  # noqa: E402

MUTANTS_MIN = 25
ROOMS = ("src/log/", "src/broker/", "src/wire/", "src/client/")
MUST_HIT = TOP / "sim/must_hit_probes.txt"
MAY_BE_MISSED = TOP / "sim/may_miss_probes.txt"
PROBE = re.compile(r'"((?:log|writer|recovery|session|sessions|server|sim)\.[a-z_.]+)"')


def names_in(path: Path) -> list[str]:
    lines = [line.split("#")[0].split() for line in path.read_text(encoding="utf-8").splitlines()]
    return [words[0] for words in lines if words]


def probes_in_the_code() -> set[str]:
    files = [path for folder in ("src/log", "src/broker", "sim") for path in (TOP / folder).rglob("*.cc")]
    return {name for path in files for name in PROBE.findall(path.read_text(encoding="utf-8"))}


class Mutants(unittest.TestCase):
    def test_there_are_enough(self):
        self.assertGreaterEqual(len(read_mutants()), MUTANTS_MIN)

    def test_each_applies_and_changes_what_is_under_test(self):
        for mutant in read_mutants():
            with self.subTest(mutant=mutant.name):
                self.assertIsNone(apply_problem(mutant, TOP, check_only=True),
                                  "mend the patch: it must make the same mistake in the code as it is now")
                self.assertTrue(all(name.startswith(ROOMS) for name in mutant.files), mutant.files)

    def test_a_patch_without_a_header_or_a_place_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.patch"
            path.write_text("something is wrong\n--- a/f\n+++ b/f\n", encoding="utf-8")
            with self.assertRaisesRegex(MutantError, "x.patch:1"):
                read_mutant(path)
            path.write_text("a mistake | breaks: a promise\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-no such line\n+x\n", encoding="utf-8")
            (Path(folder) / "f").write_text("another line\n", encoding="utf-8")
            self.assertIn("f", apply_problem(read_mutant(path), Path(folder), check_only=True) or "")


class Seeds(unittest.TestCase):
    def test_all_modes_share_them_and_none_runs_twice(self):
        for total in (5, 100, 2_000):
            run = [(mode, seed) for mode, first, last in ranges(total) for seed in range(first, last + 1)]
            self.assertEqual(len(run), total)
            self.assertEqual(len(set(run)), total)

    def test_the_reason_is_the_first_sentence(self):
        said = "topics=1 partitions=2\ncheck acked batch 3\nFETCH served more than maxBytes\nreplay: x\n"
        self.assertEqual(reason_of(said), "FETCH served more than maxBytes")


class Probes(unittest.TestCase):
    def test_every_listed_name_is_in_the_code(self):
        for path in (MUST_HIT, MAY_BE_MISSED):
            self.assertEqual(sorted(set(names_in(path)) - probes_in_the_code()), [], path.name)

    def test_every_probe_of_the_code_is_listed_once(self):
        must, may = set(names_in(MUST_HIT)), set(names_in(MAY_BE_MISSED))
        self.assertEqual(sorted(probes_in_the_code() - must - may), [])
        self.assertEqual(sorted(must & may), [])

    def test_what_may_be_missed_has_a_reason(self):
        for line in MAY_BE_MISSED.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                self.assertRegex(line, r"^\S+ +# \S.{10,}")


if __name__ == "__main__":
    unittest.main()
