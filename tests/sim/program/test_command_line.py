"""The arguments of booblik-sim, and what it prints when all goes well."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from sim_program import PROGRAM, TIMEOUT_SECONDS, run

SHORT = ["--set", "load_millis=3000"]
# Hundreds of seeds a second.
TINY = ["--mode", "calm", "--set", "load_millis=1", "--set", "topics=1", "--set", "partitions=1", "--set", "producers=1"]


def children_of(process: int) -> set[int]:
    return {int(child) for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()}


def stop_a_child_of(process: int) -> int:
    """One that has ended before the signal reached it is none: then another."""
    while True:
        for child in sorted(children_of(process)):
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGSTOP)
                while (state := pathlib.Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]) in "RSD":
                    time.sleep(0.001)
                if state == "T":
                    return child


class Seeds(unittest.TestCase):
    def test_the_same_seed_in_three_ways(self):
        lines = [run("--seed", seed, *SHORT).result()
                 for seed in ("81985529216486895", "0x123456789abcdef", "0123456789abcdef" + "0" * 24)]
        self.assertEqual(lines[0], lines[1])
        self.assertEqual(lines[0], lines[2])
        self.assertEqual(lines[0]["seed"], "81985529216486895")

    def test_the_largest_seed_ends_a_range(self):
        ran = run("--seeds", "0xfffffffffffffffe..0xffffffffffffffff", "--lines", *SHORT)
        self.assertEqual(ran.code, 0, ran.out)
        self.assertEqual(len(re.findall(r"^1844674407370955161[45] any [0-9a-f]{16} ok$", ran.out, re.MULTILINE)), 2)


class WrongUsage(unittest.TestCase):
    CASES = [
        ([], "give --seed N"),
        (["--seed", "12x"], "seed '12x': write a decimal number"),
        (["--seed", "-1"], "seed '-1'"),
        (["--seed", "0x"], "seed '0x'"),
        (["--seed", "18446744073709551616"], "does not fit in 64 bits"),
        (["--seed", "0123456789abcdef" + "0" * 23 + "g"], "digit 40 is 'g'"),
        (["--seed", "0123456789abcdeg" + "0" * 24], "digit 16 is 'g'"),
        (["--seeds", "5"], "write A..B"),
        (["--seeds", "9..3"], "the first is above the last"),
        (["--seeds", "1..x"], "seed 'x'"),
        (["--seed", "1", "--seeds", "1..2"], "not both"),
        (["--seed", "1", "--mode", "storm"], "--mode storm: it is one of any, crash, rot, network, calm"),
        (["--seed", "1", "--set", "reset_odds"], "no option of that name"),
        (["--seed", "1", "--set", "reset_odd=1"], "--set reset_odd=1: no option of that name"),
        (["--seed", "1", "--set", "reset_odds=often"], "the value is not a number"),
        (["--seed", "1", "--set", "reset_odds=-1"], "it has to be in 0.."),
        (["--seed", "1", "--set", "topics=0"], "topics=0: it has to be in 1..64"),
        (["--seed", "1", "--set", "sector_bytes=600"], "512 or 4096"),
        (["--seed", "1", "--jobs", "0"], "--jobs 0"),
        (["--seed", "1", "--minutes", "0"], "--minutes 0"),
        (["--seed", "1", "--hang-seconds", "0"], "--hang-seconds"),
        (["--seed", "1", "--trace", "/no/such/place"], "--trace /no/such/place: No such file"),
        (["--seeds", "1..2", "--trace", "-"], "one seed"),
        (["--seeds", "1..2", "--shrink"], "one seed"),
        (["--seed", "1", "--trace", "-", "--check-determinism"], "--trace goes with"),
        (["--seed", "1", "--in-process", "--shrink"], "--in-process goes with"),
        (["--sed", "1"], "--sed"),
    ]

    def test_is_64_and_says_what_is_wrong(self):
        for arguments, words in self.CASES:
            with self.subTest(arguments=arguments):
                ran = run(*arguments)
                self.assertEqual(ran.code, 64, ran.out + ran.err)
                self.assertIn(words, ran.err)
                self.assertEqual(ran.out, "")

    def test_help_is_no_error(self):
        ran = run("--help")
        self.assertEqual(ran.code, 0)
        for flag in ("--seed", "--seeds", "--minutes", "--jobs", "--set", "--mode", "--trace", "--shrink", "--check-determinism"):
            self.assertIn(flag, ran.out)


class Page(unittest.TestCase):
    def test_names_every_flag_and_no_other(self):
        page = (pathlib.Path(__file__).resolve().parents[3] / "docs/simulation.md").read_text(encoding="utf-8")
        flags = set(re.findall(r"--[a-z][a-z-]+", run("--help").out)) - {"--help"}
        # Of other programs.
        named = set(re.findall(r"--[a-z][a-z-]+", page)) - {"--args", "--help"}
        self.assertEqual(flags - named, set(), "flags that the page does not name")
        known = run("--help").out + "".join(path.read_text(encoding="utf-8") for path in
                                            pathlib.Path(__file__).resolve().parents[3].glob("sim/**/*.py"))
        self.assertEqual({flag for flag in named if flag not in known}, set(), "flags that nobody has")


class OneSeed(unittest.TestCase):
    def test_prints_every_option_first_and_the_result_last(self):
        ran = run("--seed", "3", "--mode", "calm", *SHORT)
        options = dict(item.split("=") for item in ran.out.split(f"\n{PROGRAM}")[0].split())
        self.assertGreater(len(options), 50)
        self.assertEqual(options["load_millis"], "3000")
        self.assertEqual(options["reset_odds"], "0", "zeros are printed too")
        result = ran.result()
        self.assertEqual((result["seed"], result["result"]), ("3", "ok"))
        self.assertGreaterEqual(int(result["virtual_s"]), 3)
        self.assertGreater(int(result["events"]), 100)
        self.assertIn(f"{PROGRAM} --seed 3 --mode calm --set load_millis=3000\n", ran.out)
        self.assertRegex(ran.out, r"(?m)^check acked batch \d+$")

    def test_every_option_that_is_printed_can_be_set(self):
        printed = run("--seed", "5", *SHORT)
        options = printed.out.split(f"\n{PROGRAM}")[0].split()
        again = run("--seed", "5", *[word for option in options for word in ("--set", option)])
        self.assertEqual(again.result(), printed.result())

    def test_a_set_option_changes_the_run_and_a_later_one_wins(self):
        one = run("--seed", "3", "--set", "load_millis=3000")
        other = run("--seed", "3", "--set", "load_millis=3000", "--set", "load_millis=4000")
        self.assertNotEqual(one.result()["fingerprint"], other.result()["fingerprint"])
        self.assertEqual(other.result(), run("--seed", "3", "--set", "load_millis=4000").result())

    def test_runs_in_this_process_for_a_debugger(self):
        self.assertEqual(run("--seed", "3", *SHORT, "--in-process").result(), run("--seed", "3", *SHORT).result())

    def test_probes(self):
        self.assertRegex(run("--seed", "3", "--mode", "crash", "--probes", *SHORT).out, r"(?m)^probe [a-z_.]+ \d+$")


class Ranges(unittest.TestCase):
    def test_a_line_a_seed_in_order_whatever_the_jobs(self):
        def lines(jobs):
            ran = run("--seeds", "1..12", "--mode", "crash", "--lines", "--probes", "--jobs", jobs, *SHORT)
            self.assertEqual(ran.code, 0, ran.out)
            return re.sub(r"wall_s=\S+ seeds_per_minute=\S+ jobs=\S+", "", ran.out)

        one = lines("1")
        self.assertEqual([int(line.split()[0]) for line in re.findall(r"^\d+ crash .*$", one, re.MULTILINE)], list(range(1, 13)))
        self.assertEqual(one, lines("3"))
        self.assertRegex(one.splitlines()[-1], r"^summary: (.* )?ok=\d+ .*mode=crash seeds=1\.\.12 virtual_s=\d+")

    def test_a_seed_that_is_slow_does_not_end_the_range(self):
        with subprocess.Popen([PROGRAM, "--seeds", "1..700", "--jobs", "2", *TINY], stdout=subprocess.PIPE, text=True) as process:
            stopped = stop_a_child_of(process.pid)
            # Until the others have run so far ahead that none is started any more.
            alone = 0
            while alone < 20 and process.poll() is None:
                alone = alone + 1 if children_of(process.pid) == {stopped} else 0
                time.sleep(0.01)
            self.assertIsNone(process.poll(), "it waits for the child that was stopped")
            os.kill(stopped, signal.SIGCONT)
            out, _ = process.communicate(timeout=TIMEOUT_SECONDS)
        self.assertEqual(process.returncode, 0, out)
        self.assertIn(" seeds=1..700 ", out.splitlines()[-1])

    def test_minutes_end_and_name_the_last_seed(self):
        ran = run("--minutes", "0.01", "--jobs", "2", "--lines", "--seed", "7", *SHORT)
        self.assertEqual(ran.code, 0, ran.out)
        ran_seeds = [int(line.split()[0]) for line in re.findall(r"^\d+ any .*$", ran.out, re.MULTILINE)]
        self.assertEqual(ran_seeds[0], 7)
        self.assertIn(f"seeds=7..{max(ran_seeds)} ", ran.last_line)

    def test_a_run_that_compared_nothing_is_vacuous(self):
        one = run("--seed", "3", "--set", "producers=0", "--set", "consumers=0", "--set", "load_millis=200")
        self.assertEqual((one.code, one.result()["result"]), (0, "vacuous"), one.out)
        many = run("--seeds", "3..4", "--set", "producers=0", "--set", "consumers=0", "--set", "load_millis=200", "--mode", "calm")
        self.assertIn("vacuous seeds: 3 4\n", many.out)
        self.assertIn("vacuous=2", many.last_line)


if __name__ == "__main__":
    unittest.main()
