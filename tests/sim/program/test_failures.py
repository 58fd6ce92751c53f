"""What booblik-sim does when a run fails. The faults are planted in the harness (sim/planted_fault.h)."""

import re
import unittest

from sim_program import PROGRAM, run

SHORT = ["--set", "load_millis=3000"]
ABORT, WRONG_RECORD, ENDLESS_WAIT, UNSEEDED, AFTER_A_RESTART = range(1, 6)


def planted(fault):
    return ["--set", f"planted_fault={fault}"]


class ExitCodes(unittest.TestCase):
    def check(self, fault, code, result, words, extra=()):
        ran = run("--seed", "3", *SHORT, *planted(fault), *extra)
        self.assertEqual(ran.code, code, ran.out + ran.err)
        self.assertEqual(ran.result()["result"], result)
        self.assertRegex(ran.out + ran.err, words)
        again = run(*ran.replay())
        self.assertEqual((again.code, again.result()), (ran.code, ran.result()), "the replay command repeats it")

    def test_a_failed_check_is_1(self):
        self.check(ABORT, 1, "crash", r"broken invariant: no fault is planted(.|\n)*")
        self.assertRegex(run("--seed", "3", *SHORT, *planted(ABORT)).out, r"signal 6 \(Aborted\)")

    def test_a_wrong_record_is_2(self):
        self.check(WRONG_RECORD, 2, "safety", "a record of 3 bytes that nobody sent")

    def test_an_endless_wait_is_3_and_is_named(self):
        self.check(ENDLESS_WAIT, 3, "liveness", "planted client: an answer that never comes since ")

    def test_an_unseeded_draw_is_4_and_is_pointed_at(self):
        ran = run("--seed", "3", *SHORT, *planted(UNSEEDED), "--check-determinism")
        self.assertEqual((ran.code, ran.result()["result"]), (4, "nondeterminism"), ran.out)
        self.assertRegex(ran.out, r"two runs differ in event \d+ \(of \d+ and \d+\)")
        first_here = re.search(r"^- .*$", ran.out, re.MULTILINE).group()
        first_there = re.search(r"^\+ .*$", ran.out, re.MULTILINE).group()
        self.assertIn("planted fault", first_here)
        self.assertIn("planted fault", first_there)
        self.assertNotEqual(first_here[1:], first_there[1:])
        again = run(*ran.replay())
        self.assertEqual(again.code, 4, again.out)

    def test_an_unseeded_draw_needs_a_second_run(self):
        self.assertEqual(run("--seed", "3", *SHORT, *planted(UNSEEDED)).code, 0)
        self.assertEqual(run("--seed", "3", *SHORT, "--check-determinism").code, 0)

    def test_a_run_that_never_ends_is_3(self):
        ran = run("--seed", "3", "--set", "load_millis=36000000", "--hang-seconds", "0.2")
        self.assertEqual((ran.code, ran.result()["result"]), (3, "liveness"), ran.out)
        self.assertIn("no end within 0.2 s of real time", ran.out)


class Ranges(unittest.TestCase):
    def test_the_first_failure_in_seed_order_ends_a_range_whatever_the_jobs(self):
        for jobs in ("1", "3"):
            ran = run("--seeds", "1..30", *SHORT, *planted(ABORT), "--jobs", jobs)
            self.assertEqual(ran.code, 1)
            self.assertEqual(re.findall(r"^replay: .*--seed (\d+) ", ran.out, re.MULTILINE), ["1"], ran.out)
            self.assertIn("crash=1 ", ran.last_line)

    def test_a_crash_takes_no_other_results_away(self):
        ran = run("--seeds", "1..7", *SHORT, *planted(ABORT), "--jobs", "2", "--keep-going")
        self.assertEqual(ran.code, 1)
        self.assertEqual(re.findall(r"^replay: .*--seed (\d+) ", ran.out, re.MULTILINE), list("1234567"), ran.out)
        self.assertIn("failed seeds: 1 2 3 4 5 6 7\n", ran.out)

    def test_good_seeds_stand_beside_bad_ones(self):
        def lines(jobs):
            ran = run("--seeds", "1..20", *SHORT, *planted(AFTER_A_RESTART), "--jobs", jobs, "--keep-going", "--lines")
            self.assertEqual(ran.code, 2, ran.out)
            return re.findall(r"^\d+ any .*$", ran.out, re.MULTILINE)

        one = lines("1")
        self.assertEqual(len(one), 20)
        self.assertEqual({line.split()[3] for line in one} - {"vacuous"}, {"ok", "safety"})
        self.assertEqual(one, lines("2"))

    def test_every_nth_seed_runs_twice(self):
        ran = run("--seeds", "1..9", *SHORT, *planted(UNSEEDED), "--twice-every", "4", "--keep-going")
        self.assertEqual(ran.code, 4)
        self.assertIn("failed seeds: 1 5 9\n", ran.out)


class InThisProcess(unittest.TestCase):
    def test_a_failed_check_reaches_the_debugger(self):
        self.assertIn(run("--seed", "3", *SHORT, *planted(ABORT), "--in-process").code, (-6, 1))

    def test_a_verdict_is_told_as_ever(self):
        self.assertEqual(run("--seed", "3", *SHORT, *planted(WRONG_RECORD), "--in-process").code, 2)


class Shrinking(unittest.TestCase):
    def test_finds_the_smaller_scenario_and_prints_its_command(self):
        # Needs a restart, and nothing else.
        start = ["--seed", "4", "--mode", "crash", "--set", "life_millis=2000", "--set", "load_millis=20000",
                 "--set", "planted_fault=5"]
        whole = run(*start)
        self.assertEqual(whole.code, 2, whole.out)
        ran = run(*start, "--shrink")
        self.assertEqual(ran.code, 2, ran.out)
        self.assertRegex(ran.out, r"run +\d+: still safety with ")
        small = dict(word.split("=") for word in ran.replay() if "=" in word)
        self.assertEqual(small["planted_fault"], "5")
        self.assertNotEqual(small.get("life_millis"), "0", "without restarts it does not fail")
        self.assertLess(int(small["load_millis"]), 8_000)
        command = ran.out.strip().splitlines()
        self.assertTrue(any(line.startswith(f"replay: {PROGRAM} --seed 4 --mode crash --set ") for line in command), ran.out)
        again = run(*ran.replay())
        self.assertEqual(again.code, 2)
        self.assertEqual(again.result(), ran.result(), "the command repeats what was found")
        self.assertLess(int(again.result()["events"]), int(whole.result()["events"]) // 2)
        options = dict(item.split("=") for item in again.out.split(f"\n{PROGRAM}")[0].split())
        self.assertEqual([name for name, value in options.items()
                          if name.endswith("_odds") and value != "0"], [], "no fault of this kind matters")
        self.assertEqual((options["producers"], options["consumers"], options["topics"]), ("1", "0", "1"))

    def test_shrinks_a_crash_and_keeps_to_its_limit(self):
        ran = run("--seed", "3", *SHORT, *planted(ABORT), "--shrink", "--shrink-runs", "4")
        self.assertEqual(ran.code, 1, ran.out)
        self.assertIn("after 4 runs (the limit)", ran.out)
        self.assertEqual(run(*ran.replay()).code, 1)

    def test_shrinks_what_never_ends(self):
        ran = run("--seed", "3", "--set", "load_millis=36000000", "--hang-seconds", "0.1", "--shrink", "--shrink-runs", "5")
        self.assertEqual((ran.code, ran.result()["result"]), (3, "liveness"), ran.out)

    def test_says_when_nothing_fails(self):
        ran = run("--seed", "3", *SHORT, "--shrink")
        self.assertEqual((ran.code, ran.last_line), (0, "nothing to shrink: the seed does not fail"))


if __name__ == "__main__":
    unittest.main()
