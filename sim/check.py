"""What every change has to pass in the simulator; `./dev sim` and the CI run it.

1. The seeds of sim/regressions, twice each.
2. Fixed seeds, the same number in each mode.
3. Consecutive seeds that follow from the commit's hash, so that every commit tries something new.
   Of 2 and 3 every tenth runs twice and has to come to the same fingerprint.
4. A part of the fixed seeds in the other build (another compiler, with sanitizers): equal fingerprints.
5. The runs of sim/probe_runs, each of which is there for the sake of rare paths: they hit the probes that they name.
6. Every probe of sim/must_hit_probes.txt was hit somewhere in 1 to 3 and 5.

Exit code 0 when all of it holds, 1 otherwise. The last line counts seeds and probes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
MODES = ("any", "crash", "network", "calm", "rot")
TWICE_EVERY = 10
# More runs than this in which nothing was compared: the scenarios have become empty.
VACUOUS_SHARE_MAX = 0.05


@dataclass
class Totals:
    passed: int = 0
    failed: int = 0
    vacuous: int = 0
    probes: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Runs:
    """What one call of booblik-sim printed: (seed, mode) to (fingerprint, result)."""

    seeds: dict[tuple[int, str], tuple[str, str]]
    probes: Counter[str]
    exit_code: int
    output: str


def parse_output(output: str, exit_code: int) -> Runs:
    seeds: dict[tuple[int, str], tuple[str, str]] = {}
    probes: Counter[str] = Counter()
    for line in output.splitlines():
        words = line.split()
        if len(words) == 4 and words[0].isdigit() and words[1] in MODES:
            seeds[int(words[0]), words[1]] = (words[2], words[3])
        elif len(words) == 3 and words[0] == "probe":
            probes[words[1]] += int(words[2])
    return Runs(seeds, probes, exit_code, output)


def run_program(program: Path, arguments: list[str]) -> Runs:
    done = subprocess.run([str(program), *arguments, "--lines"], capture_output=True, text=True, check=False)
    return parse_output(done.stdout + done.stderr, done.returncode)


def read_regressions(path: Path) -> list[tuple[str, int]]:
    """(mode, seed) of each line."""
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return [(words[0], int(words[1])) for words in lines if words and not words[0].startswith("#")]


@dataclass(frozen=True)
class ProbeRun:
    """A run that is there to come to rare places."""

    mode: str
    seed: int
    probes: tuple[str, ...]
    options: tuple[str, ...]


def read_probe_runs(path: Path) -> list[ProbeRun]:
    """Of lines 'mode seed probe,probe name=number name=number ...'."""
    lines = [line.split("#")[0].split() for line in path.read_text(encoding="utf-8").splitlines()]
    return [ProbeRun(words[0], int(words[1]), tuple(words[2].split(",")), tuple(words[3:])) for words in lines if words]


def read_names(path: Path) -> list[str]:
    names = [line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return [name for name in names if name]


def commit_hash() -> str | None:
    done = subprocess.run(["git", "-C", str(TOP), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def seeds_of_commit(commit: str, count: int) -> range:
    """What `--seed COMMIT` runs, and those behind it."""
    first = min(int(commit[:16], 16), 2**64 - count)
    return range(first, first + count)


class Check:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.totals = Totals()
        self.fixed: dict[tuple[int, str], tuple[str, str]] = {}

    def take(self, runs: Runs, wanted: int, what: str) -> None:
        """Counts the runs, and shows the output of those that did not go well."""
        results = Counter(result for _, result in runs.seeds.values())
        good = results["ok"] + results["vacuous"]
        if runs.exit_code != 0 and good == wanted:
            good -= 1
        self.totals.passed += good
        self.totals.failed += wanted - good
        self.totals.vacuous += results["vacuous"]
        self.totals.probes.update(runs.probes)
        if good != wanted:
            print(f"{what}: exit code {runs.exit_code}, {wanted - good} of {wanted} seeds failed:")
            print("".join(f"  {line}\n" for line in runs.output.splitlines() if not is_plain(line)), end="")

    def run_range(self, seeds: range, mode: str) -> Runs:
        runs = run_program(self.arguments.program, [
            "--seeds", f"{seeds[0]}..{seeds[-1]}", "--mode", mode, "--jobs", str(self.arguments.jobs), "--probes", "--keep-going",
            "--twice-every", str(TWICE_EVERY)])
        self.take(runs, len(seeds), f"seeds {seeds[0]}..{seeds[-1]} of mode {mode}")
        return runs

    def regressions(self) -> None:
        for mode, seed in read_regressions(self.arguments.regressions):
            runs = run_program(self.arguments.program, ["--seed", str(seed), "--mode", mode, "--check-determinism", "--probes"])
            self.take(runs, 1, f"regression {mode} {seed}")

    def fixed_seeds(self) -> None:
        for mode in MODES:
            self.fixed.update(self.run_range(range(1, self.arguments.fixed // len(MODES) + 1), mode).seeds)

    def commit_seeds(self) -> None:
        commit = self.arguments.commit or commit_hash()
        if commit is None:
            print("no commit is known here: its seeds are left out (--commit HASH)")
            return
        seeds = seeds_of_commit(commit, self.arguments.of_commit)
        share = len(seeds) // len(MODES)
        print(f"seeds of commit {commit}: {seeds[0]}..{seeds[-1]}, {share} in each of {', '.join(MODES)}")
        for index, mode in enumerate(MODES):
            self.run_range(seeds[index * share:(index + 1) * share], mode)

    def other_build(self) -> None:
        count = self.arguments.compared // len(MODES)
        for mode in MODES:
            runs = run_program(self.arguments.other, ["--seeds", f"1..{count}", "--mode", mode, "--jobs", str(self.arguments.jobs), "--keep-going"])
            self.take(runs, count, f"seeds 1..{count} of mode {mode} in the other build")
            for key, other in runs.seeds.items():
                if self.fixed.get(key, other) != other:
                    self.totals.failed += 1
                    print(f"seed {key[0]} of mode {key[1]}: {' '.join(self.fixed[key])} here, {' '.join(other)} in the other build")

    def probe_runs(self) -> None:
        for run in read_probe_runs(self.arguments.probe_runs):
            options = [word for option in run.options for word in ("--set", option)]
            runs = run_program(self.arguments.program, ["--seed", str(run.seed), "--mode", run.mode, *options, "--probes"])
            self.take(runs, 1, f"probe run {run.mode} {run.seed}")
            for name in run.probes:
                if not runs.probes[name]:
                    self.totals.failed += 1
                    print(f"probe {name} was not hit by its own run, --mode {run.mode} --seed {run.seed}: choose another seed "
                          "or mend the options (sim/probe_runs)")

    def probes(self) -> None:
        for name in read_names(self.arguments.must_hit):
            hit = self.totals.probes[name] > 0
            self.totals.passed += hit
            self.totals.failed += not hit
            if not hit:
                print(f"probe {name} was never hit: the scenarios do not come there any more")

    def vacuous(self) -> None:
        share = self.totals.vacuous / max(self.totals.passed, 1)
        if share > VACUOUS_SHARE_MAX:
            self.totals.failed += 1
            print(f"{self.totals.vacuous} runs compared nothing")

    def run(self) -> int:
        steps = [("regressions", self.regressions), ("fixed seeds", self.fixed_seeds), ("seeds of the commit", self.commit_seeds)]
        if self.arguments.other is not None:
            steps.append(("the other build", self.other_build))
        steps += [("runs for probes", self.probe_runs), ("probes that must be hit", self.probes), ("vacuous runs", self.vacuous)]
        for name, step in steps:
            began = time.monotonic()
            before = self.totals.failed
            step()
            state = "ok" if self.totals.failed == before else "FAILED"
            print(f"{name}: {state}, {time.monotonic() - began:.1f} s", flush=True)
        print(f"{self.totals.passed} passed, {self.totals.failed} failed, {self.totals.vacuous} vacuous")
        return 1 if self.totals.failed else 0


def is_plain(line: str) -> bool:
    """A line that says that a seed went well, or counts."""
    return line.startswith(("probe ", "check ")) or line.endswith((" ok", " vacuous"))


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=TOP / "build/release/booblik-sim", help="booblik-sim of the one build")
    parser.add_argument("--other", type=Path, help="booblik-sim of the other build; left out when it is not given")
    parser.add_argument("--commit", help="a hash of 40 digits; otherwise that of HEAD")
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side (%(default)s)")
    parser.add_argument("--fixed", type=int, default=300, help="fixed seeds over all modes (%(default)s)")
    parser.add_argument("--of-commit", type=int, default=100, help="seeds of the commit over all modes (%(default)s)")
    parser.add_argument("--compared", type=int, default=60, help="fixed seeds that the other build runs (%(default)s)")
    parser.add_argument("--regressions", type=Path, default=TOP / "sim/regressions")
    parser.add_argument("--probe-runs", type=Path, default=TOP / "sim/probe_runs")
    parser.add_argument("--must-hit", type=Path, default=TOP / "sim/must_hit_probes.txt")
    parsed = parser.parse_args(arguments)
    for path in filter(None, (parsed.program, parsed.other, parsed.regressions, parsed.probe_runs, parsed.must_hit)):
        if not path.is_file():
            parser.error(f"there is no {path}; ./dev sim builds the programs")
    if min(parsed.fixed, parsed.of_commit, parsed.compared) < len(MODES):
        parser.error(f"each mode needs a seed: at least {len(MODES)} of each kind")
    return parsed


if __name__ == "__main__":
    sys.exit(Check(parse_arguments(sys.argv[1:])).run())
