"""What the corpora reach: clang's source-based coverage of all targets together, file by file.

A region is a stretch of code that is entered as a whole. In the files of COMPLETE each has to be reached, or has to
stand in fuzz/unreached.txt with the reason. Regions inside of a macro are not counted: the failing side of a
BOOBLIK_CHECK ends the process.
"""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PROFDATA, COV = "llvm-profdata-19", "llvm-cov-19"
CODE = 0  # the kind of a region; the others are expansions of macros, gaps and branches

# The decoders, and everything that a start reads.
COMPLETE = (
    "src/log/checkpoint.cc",
    "src/log/data_directory.cc",
    "src/log/examine.cc",
    "src/log/index_file.cc",
    "src/log/recovery.cc",
    "src/log/recovery_plan.cc",
    "src/log/recovery_table.cc",
    "src/log/scan.cc",
    "src/log/segment.cc",
    "src/log/segment_reader.cc",
    "src/log/stretch.cc",
    "src/log/verify_summary.cc",
    "src/wire/request.cc",
    "src/wire/response.cc",
    "src/wire/topic_name.cc",
)

Place = tuple[int, int, int, int]  # line and column of the begin, line and column of the end
Regions = dict[str, dict[Place, int]]  # by file: how often each was entered
Exceptions = dict[tuple[str, str], str]  # by file and text of a line: the reason


class Malformed(Exception):
    """The list of exceptions cannot be read, with a sentence that says where."""


# --- what was reached ---


def inputs_of(root: Path, data: Path, target: str) -> list[Path]:
    folders = (data / "corpus" / target, data / "seeds" / target, root / "fuzz/crashes" / target)
    return [folder for folder in folders if folder.is_dir()]


def profile(root: Path, data: Path, target: str, program: Path) -> Path:
    """Runs the target over everything that it has."""
    raw = program.parent / f"{target}.profraw"
    raw.unlink(missing_ok=True)
    command = [str(program), "-runs=0", *map(str, inputs_of(root, data, target))]
    subprocess.run(command, env=dict(os.environ) | {"LLVM_PROFILE_FILE": str(raw)}, capture_output=True, check=True)
    return raw


def export(root: Path, data: Path, programs: dict[str, Path]) -> Any:
    merged = root / "build/fuzz-coverage/all.profdata"
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        raw = list(pool.map(lambda item: profile(root, data, *item), programs.items()))
    subprocess.run([PROFDATA, "merge", "-sparse", "-o", str(merged), *map(str, raw)], check=True)
    objects = [argument for program in programs.values() for argument in ("-object", str(program))]
    command = [COV, "export", f"-instr-profile={merged}", "-format=text", *objects[1:]]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["data"][0]


def regions_of(exported: Any, root: Path) -> Regions:
    """A function may be in many programs, a template in many forms: a region counts as often as the sum."""
    regions: Regions = {}
    for function in exported["functions"]:
        names = [os.path.relpath(os.path.join(root / "build/fuzz-coverage", name), root) for name in function["filenames"]]
        for *place, count, file, _, kind in function["regions"]:
            if kind == CODE and names[file] == names[0] and names[file].startswith("src/"):
                known = regions.setdefault(names[file], {})
                known[tuple(place)] = known.get(tuple(place), 0) + count
    return regions


# --- what need not be reached ---


def read_exceptions(path: Path) -> Exceptions:
    """'FILE: LINE' as the source has it, and indented below it the reason; # begins a comment."""
    exceptions: Exceptions = {}
    key = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            if key is None:
                raise Malformed(f"{path}:{number}: a reason without a line that it is about")
            exceptions[key] = f"{exceptions[key]} {line.strip()}".strip()
            continue
        file, colon, text = line.partition(": ")
        if not colon or file not in COMPLETE:
            raise Malformed(f"{path}:{number}: expected 'FILE: LINE', FILE one that has to be reached completely")
        key = (file, text.strip())
        exceptions[key] = ""
    for (file, text), reason in exceptions.items():
        if not reason:
            raise Malformed(f"{path}: there is no reason for '{file}: {text}'")
    return exceptions


class Judgement:
    """Unreached regions against the list."""

    def __init__(self, root: Path, regions: Regions, exceptions: Exceptions) -> None:
        self.unlisted: list[str] = []  # what is wrong
        self.excused: list[str] = []
        self.by_file: dict[str, int] = {}  # regions that are excused
        used = set()
        for name in COMPLETE:
            lines = (root / name).read_text().splitlines()
            for place, count in sorted(regions.get(name, {}).items()):
                if count > 0:
                    continue
                text = lines[place[0] - 1].strip()
                where = f"{name}:{place[0]}:{place[1]}: {text}"
                if (name, text) in exceptions:
                    used.add((name, text))
                    self.by_file[name] = self.by_file.get(name, 0) + 1
                    self.excused.append(f"{where}\n    {exceptions[name, text]}")
                else:
                    self.unlisted.append(where)
        self.reached = [f"{file}: {text}" for file, text in exceptions if (file, text) not in used]


# --- the report ---


def report(root: Path, data: Path, programs: dict[str, Path], full: bool) -> bool:
    exceptions = read_exceptions(root / "fuzz/unreached.txt")
    regions = regions_of(export(root, data, programs), root)
    judgement = Judgement(root, regions, exceptions)
    print(f"{'file':40} {'regions':>8} {'reached':>8} {'excused':>8} {'%':>6}")
    for name, counts in sorted(regions.items()):
        reached = sum(count > 0 for count in counts.values())
        excused = judgement.by_file.get(name, 0)
        percent = 100.0 * (reached + excused) / len(counts)
        print(f"{name:40} {len(counts):8} {reached:8} {excused or '':>8} {percent:6.1f}{' *' if name in COMPLETE else ''}")
    print("* has to be reached completely, but for what fuzz/unreached.txt excuses")
    if full:
        print("\n".join(["", "excused:", *judgement.excused]))
    for line in judgement.reached:
        print(f"excused, but reached, or not there any more: {line}")
    for line in judgement.unlisted:
        print(f"not reached: {line}")
    missing = [name for name in COMPLETE if name not in regions]
    for name in missing:
        print(f"not reached: {name} (no target that is built contains it)")
    if judgement.unlisted:
        print(f"{len(judgement.unlisted)} regions are not reached: run the targets for longer, give them seeds, or say why not")
    return not judgement.unlisted and not missing
