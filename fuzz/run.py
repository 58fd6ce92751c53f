#!/usr/bin/env python3
"""Runs the fuzz targets: `./dev fuzz ...` builds them and comes here. docs/fuzzing.md says what each one checks.

    run.py TARGET [SECONDS]      one target for so long (60), from its seeds and what earlier runs found
    run.py all [SECONDS]         each of them, several at a time, after the kept crashes have been replayed
    run.py replay FILE           one input once, with its stack; the target is in the file's name or that of its folder
    run.py keep FILE NAME        an input that once failed becomes fuzz/crashes/TARGET/NAME, which is replayed from then on
    run.py coverage [--full]     what the corpora reach, file by file (build/fuzz-coverage)
    run.py list                  the names of the targets
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import coverage
import seeds

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/asan"
DATA = ROOT / "build/fuzz"
FOUND = DATA / "found"
CRASHES = ROOT / "fuzz/crashes"
INPUT_SECONDS_MAX = 20  # an input that takes longer hangs
INPUT_MEMORY_MIB_MAX = 256  # in one allocation: nothing is sized from an announced length
MEMORY_MIB_MAX = 2048
SUFFIX = "_fuzz"


class Refused(Exception):
    """What was asked for cannot be done, with a sentence that says why."""


def programs(build: Path = BUILD) -> dict[str, Path]:
    found = {path.name.removesuffix(SUFFIX): path for path in sorted((build / "fuzz").glob("*" + SUFFIX)) if path.is_file()}
    if not found:
        raise Refused(f"there are no targets in {build / 'fuzz'}: ./dev fuzz builds them")
    return found


def program_of(target: str) -> Path:
    known = programs()
    if target not in known:
        raise Refused(f"there is no fuzz target '{target}'; there are: {', '.join(known)}")
    return known[target]


def environment() -> dict[str, str]:
    symbolizer = shutil.which("llvm-symbolizer-19")
    settings = {"UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}
    if symbolizer:
        settings |= {"ASAN_SYMBOLIZER_PATH": symbolizer, "UBSAN_SYMBOLIZER_PATH": symbolizer}
    return settings | dict(os.environ)


def limits() -> list[str]:
    return [f"-timeout={INPUT_SECONDS_MAX}", f"-rss_limit_mb={MEMORY_MIB_MAX}", f"-malloc_limit_mb={INPUT_MEMORY_MIB_MAX}"]


def target_of(file: Path) -> str:
    """From "session-crash-1234" or ".../session/1234"."""
    for name in (file.name, file.resolve().parent.name):
        fitting = [target for target in programs() if name == target or name.startswith(target + "-")]
        if fitting:
            return max(fitting, key=len)
    raise Refused(f"{file}: neither its name nor its folder's begins with a target: {', '.join(programs())}")


# --- running ---


def statistic(log: str, name: str) -> str:
    found = re.findall(rf"stat::{name}:\s+(\d+)", log)
    return found[-1] if found else "?"


def run(target: str, seconds: int, seed: int) -> bool:
    """Says in one line how it went; what was found is in build/fuzz/found."""
    program = program_of(target)
    corpus = DATA / "corpus" / target
    for folder in (corpus, FOUND):
        folder.mkdir(parents=True, exist_ok=True)
    log_path = DATA / f"{target}.log"
    command = [str(program), f"-max_total_time={seconds}", *limits(), "-print_final_stats=1", f"-dict={ROOT / 'fuzz/booblik.dict'}"]
    command += [f"-seed={seed}", f"-artifact_prefix={FOUND}/{target}-", str(corpus), str(DATA / "seeds" / target)]
    with open(log_path, "w") as log_file:
        ended = subprocess.run(command, stdout=log_file, stderr=subprocess.STDOUT, env=environment(), stdin=subprocess.DEVNULL)
    log = log_path.read_text(errors="replace")
    reached = re.findall(r"cov: (\d+)", log)
    line = f"{target}: {statistic(log, 'number_of_executed_units')} inputs, {statistic(log, 'average_exec_per_sec')} a second, "
    line += f"{statistic(log, 'new_units_added')} new, coverage {reached[-1] if reached else '?'}"
    if ended.returncode == 0:
        print(line, flush=True)
        return True
    tail = "\n".join(log.splitlines()[-60:])
    print(f"{tail}\n{line}\n{target}: FAILED ({ended.returncode}), whole log in {log_path}; ./dev fuzz replay FILE runs it again", flush=True)
    return False


def run_all(seconds: int, seed: int, jobs: int) -> bool:
    kept = replay_kept()
    with ThreadPoolExecutor(jobs) as pool:
        return all(list(pool.map(lambda target: run(target, seconds, seed), programs()))) and kept


def replay(file: Path) -> bool:
    if not file.is_file():
        raise Refused(f"there is no file {file}")
    target = target_of(file)
    print(f"{target}: {file}", flush=True)
    return subprocess.run([str(program_of(target)), *limits(), str(file)], env=environment()).returncode == 0


def replay_kept() -> bool:
    """Every input that ever failed, all of a target's in one process."""
    good = True
    for folder in sorted(path for path in CRASHES.iterdir() if path.is_dir()) if CRASHES.is_dir() else []:
        files = sorted(str(path) for path in folder.iterdir())
        ended = subprocess.run(
            [str(program_of(folder.name)), *limits(), *files], env=environment(), capture_output=True, text=True, errors="replace"
        )
        print(f"{folder.name}: {len(files)} kept inputs {'ok' if ended.returncode == 0 else 'FAILED'}", flush=True)
        if ended.returncode != 0:
            print("\n".join(ended.stderr.splitlines()[-60:]), flush=True)
            good = False
    return good


def keep(file: Path, name: str) -> bool:
    folder = CRASHES / target_of(file)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, folder / name)
    print(f"{folder / name} is replayed from now on")
    return True


# --- the command line ---


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="all", help="a target, or all, replay, keep, coverage, list; a number of seconds means all")
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="targets at a time (one for each processor)")
    parser.add_argument("--seed", type=int, default=0, help="of libFuzzer's random numbers; 0 (the default) takes another one each time")
    parser.add_argument("--full", action="store_true", help="of coverage: also what is excused, and why")
    options = parser.parse_args()
    if options.what.isdigit():
        options.what, options.arguments = "all", [options.what, *options.arguments]
    return options


def seconds_of(arguments: list[str]) -> int:
    if not arguments:
        return 60
    if len(arguments) > 1 or not arguments[0].isdigit() or int(arguments[0]) == 0:
        raise Refused(f"expected a number of seconds, got: {' '.join(arguments)}")
    return int(arguments[0])


def main() -> int:
    options = parse()
    try:
        if options.what == "list":
            print("\n".join(programs()))
            return 0
        if options.what == "coverage":
            return 0 if coverage.report(ROOT, DATA, programs(ROOT / "build/fuzz-coverage"), options.full) else 1
        if options.what in ("replay", "keep"):
            wanted = 1 if options.what == "replay" else 2
            if len(options.arguments) != wanted:
                raise Refused(f"{options.what} takes {'a file' if wanted == 1 else 'a file and a name'}")
            file = Path(options.arguments[0])
            return 0 if (replay(file) if options.what == "replay" else keep(file, options.arguments[1])) else 1
        seconds = seconds_of(options.arguments)
        seeds.write(DATA / "seeds")
        if options.what == "all":
            return 0 if run_all(seconds, options.seed, max(1, options.jobs)) else 1
        return 0 if run(options.what, seconds, options.seed) else 1
    except (Refused, coverage.Malformed) as refusal:
        print(f"fuzz: {refusal}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
