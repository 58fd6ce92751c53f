"""Builds each mutant of the broker and shows within how many seeds the simulator catches it.

A mutant is a patch in sim/mutants with one plausible mistake. It is built in a copy of the project below build/, and
seeds of all modes run until one fails that passes without it. Exit code 1: a mutant survives, or does not apply or build.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from patches import TOP, Mutant, MutantError, read_mutants  # noqa: E402
from scratch import Scratch  # noqa: E402

MODES = ("any", "crash", "network", "calm", "rot")
SEEDS = 2_000
# Shares of the seeds by round: what is caught at all is nearly always caught early, in one mode or another.
ROUNDS = (0.02, 0.08, 0.3, 0.6)
# So long a single run may take: a mutant may spin.
HANG_SECONDS = 30
# What `booblik-sim --lines` says of each seed.
_RUN = re.compile(r"^(?P<seed>\d+) (?P<mode>\w+) (?P<fingerprint>[0-9a-f]+) (?P<result>\w+)$", re.MULTILINE)
_GOOD = ("ok", "vacuous")


@dataclass(frozen=True)
class Caught:
    verdict: str
    mode: str
    seed: int
    reason: str


@dataclass(frozen=True)
class Outcome:
    mutant: Mutant
    caught: Caught | None
    seeds: int
    seconds: float
    problem: str = ""


class Processes:
    """Runs commands, several at a time, and ends those that still run when the program has to stop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopping = False

    def run(self, command: list[str], **options: object) -> tuple[int, str]:
        """Exit code and what was said on both streams."""
        with self._lock:
            if self._stopping:
                raise KeyboardInterrupt
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace", start_new_session=True, **options,  # type: ignore[call-overload]
            )
            self._running.add(process)
        try:
            output, _ = process.communicate()
            return process.returncode, output
        except BaseException:
            self._end(process)
            raise
        finally:
            with self._lock:
                self._running.discard(process)

    def stop(self) -> None:
        with self._lock:
            self._stopping = True
            running = list(self._running)
        for process in running:
            self._end(process)

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> None:
        try:
            os.killpg(process.pid, signal.SIGKILL)  # its own session: the compilers that it started go too
        except ProcessLookupError:
            pass


def reason_of(said: str) -> str:
    """The first sentence of what a run that failed has said; before it may come the options that were drawn."""
    for line in said.splitlines():
        is_options = all("=" in word for word in line.split())
        if not is_options and " --seed " not in line and not line.startswith(("check ", " ")):
            return line.strip()
    return "no word"


def run_range(processes: Processes, program: Path, mode: str, first: int, last: int) -> Caught | None:
    """The first seed of the range that fails."""
    command = [str(program), "--seeds", f"{first}..{last}", "--mode", mode, "--lines", "--hang-seconds", str(HANG_SECONDS)]
    code, output = processes.run(command)
    if code == 0:
        return None
    behind = 0
    for run in _RUN.finditer(output):
        if run["result"] not in _GOOD:
            return Caught(run["result"], mode, int(run["seed"]), reason_of(output[behind:run.start()]))
        behind = run.end()
    raise MutantError(f"{' '.join(command)}: exit code {code}\n{output[-2000:]}")


def ranges(seeds: int) -> list[tuple[str, int, int]]:
    """(mode, first, last) in the order in which they run; `seeds` in all."""
    each = max(1, seeds // len(MODES))
    done = 0
    plan = []
    for number, share in enumerate(ROUNDS):
        end = each if number + 1 == len(ROUNDS) else min(each, done + max(1, round(each * share)))
        if end > done:
            plan += [(mode, done + 1, end) for mode in MODES]
        done = end
    return plan


def hunt(processes: Processes, mutant: Mutant, program: Path, unchanged: Path, seeds: int) -> Outcome:
    began = time.monotonic()
    run = 0
    for mode, first, last in ranges(seeds):
        while first <= last:
            caught = run_range(processes, program, mode, first, last)
            run += (caught.seed if caught else last) - first + 1
            if caught is None:
                break
            # Only what passes without the mutant is caught by it.
            if run_range(processes, unchanged, mode, caught.seed, caught.seed) is None:
                return Outcome(mutant, caught, run, time.monotonic() - began)
            print(f"mutants: --mode {mode} --seed {caught.seed} fails without any mutant", file=sys.stderr)
            first = caught.seed + 1
    return Outcome(mutant, None, run, time.monotonic() - began, f"survives {run} seeds")


def show(outcomes: list[Outcome]) -> None:
    rows = [("mutant", "caught by", "mode", "seed", "seeds", "s", "how it showed")]
    for outcome in outcomes:
        caught = outcome.caught
        seconds = f"{outcome.seconds:.1f}"
        if caught:
            rows.append((outcome.mutant.name, caught.verdict, caught.mode, str(caught.seed), str(outcome.seeds), seconds,
                         caught.reason))
        else:
            rows.append((outcome.mutant.name, "NOTHING", "-", "-", str(outcome.seeds), seconds, outcome.problem))
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        print("  ".join([*cells, row[6][:110]]).rstrip())


def show_markdown(outcomes: list[Outcome]) -> None:
    """The table of docs/simulation.md."""
    print("| mutant | mistake | caught by | seeds |\n|---|---|---|---|")
    for outcome in outcomes:
        caught = outcome.caught
        by = f"{caught.verdict}, {caught.mode} {caught.seed}" if caught else f"**nothing**: {outcome.problem}"
        print(f"| `{outcome.mutant.name}` | {outcome.mutant.mistake} | {by} | {outcome.seeds} |")


def hunt_all(processes: Processes, mutants: list[Mutant], scratch: Scratch, seeds: int, jobs: int) -> list[Outcome]:
    """Builds one after the other while seeds of those that are built run; in the order of `mutants`."""
    print("mutants: building the unchanged program", file=sys.stderr)
    unchanged = scratch.prepare()
    hunts: list[Future[Outcome]] = []

    def hunt_one(mutant: Mutant, program: Path) -> Outcome:
        outcome = hunt(processes, mutant, program, unchanged, seeds)
        program.unlink()
        caught = outcome.caught
        said = f"{caught.verdict} in {outcome.seeds} seeds" if caught else outcome.problem.upper()
        print(f"mutants: {mutant.name}: {said}", file=sys.stderr)
        return outcome

    with ThreadPoolExecutor(jobs) as pool:
        try:
            for mutant in mutants:
                program, problem = scratch.build(mutant)
                if program is None:
                    print(f"mutants: {mutant.name}: {problem}", file=sys.stderr)
                    failed: Future[Outcome] = Future()
                    failed.set_result(Outcome(mutant, None, 0, 0.0, problem))
                    hunts.append(failed)
                else:
                    hunts.append(pool.submit(hunt_one, mutant, program))
            return [each.result() for each in hunts]
        except BaseException:
            processes.stop()
            pool.shutdown(cancel_futures=True)
            raise


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev mutants", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="these mutants only (sim/mutants/NAME.patch)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="what a mutant may survive, over all modes (%(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time (%(default)s)")
    parser.add_argument("--keep", action="store_true", help="leave build/mutants there, which saves building next time")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/simulation.md")
    parser.add_argument("--list", action="store_true", help="say what each mutant is, and build nothing")
    parsed = parser.parse_args(arguments)
    if parsed.seeds < 1 or parsed.jobs < 1:
        parser.error("--seeds and --jobs are at least 1")
    return parsed


def stop_on_signal(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def main(arguments: list[str]) -> int:
    wanted = parse_arguments(arguments)
    folder = TOP / "build" / "mutants"
    processes = Processes()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop_on_signal)
    began = time.monotonic()
    try:
        mutants = read_mutants(wanted.names)
        if wanted.list:
            for mutant in mutants:
                print(f"{mutant.name}: {mutant.mistake}; breaks: {mutant.promise}")
            return 0
        folder.mkdir(parents=True, exist_ok=True)
        outcomes = hunt_all(processes, mutants, Scratch(folder, wanted.jobs, processes.run), wanted.seeds, wanted.jobs)
    except MutantError as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("mutants: stopped", file=sys.stderr)
        return 130
    finally:
        processes.stop()
        if not wanted.keep and not wanted.list:
            shutil.rmtree(folder, ignore_errors=True)
    (show_markdown if wanted.markdown else show)(outcomes)
    alive = [outcome for outcome in outcomes if outcome.caught is None]
    print(f"{len(outcomes) - len(alive)} of {len(outcomes)} mutants caught, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
