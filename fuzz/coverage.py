"""What the corpora reach: clang's source-based coverage of all targets together, file by file."""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROFDATA, COV = "llvm-profdata-19", "llvm-cov-19"

# What has to be reached completely, but for the exceptions that docs/fuzzing.md lists.
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
    "src/wire/request.cc",
    "src/wire/response.cc",
    "src/wire/topic_name.cc",
)


def inputs_of(root: Path, build: Path, target: str) -> list[Path]:
    folders = (build / "corpus" / target, build / "seeds" / target, root / "fuzz/crashes" / target)
    return [folder for folder in folders if folder.is_dir()]


def profile(root: Path, build: Path, target: str, program: Path) -> Path:
    """Runs the target over everything that it has."""
    raw = program.parent / f"{target}.profraw"
    raw.unlink(missing_ok=True)
    command = [str(program), "-runs=0", *map(str, inputs_of(root, build, target))]
    subprocess.run(command, env=dict(os.environ) | {"LLVM_PROFILE_FILE": str(raw)}, capture_output=True, check=True)
    return raw


def uncovered_lines(file: dict) -> list[int]:
    """Where regions begin that were never entered. A segment is line, column, count, has count, begins a region, is a gap."""
    return sorted({segment[0] for segment in file["segments"] if segment[2] == 0 and segment[3] and segment[4] and not segment[5]})


def report(root: Path, build: Path, programs: dict[str, Path], full: bool) -> bool:
    merged = root / "build/fuzz-coverage/all.profdata"
    with ThreadPoolExecutor(2) as pool:
        raw = list(pool.map(lambda item: profile(root, build, *item), programs.items()))
    subprocess.run([PROFDATA, "merge", "-sparse", "-o", str(merged), *map(str, raw)], check=True)
    command = [COV, "export", f"-instr-profile={merged}", "-format=text"]
    for index, program in enumerate(programs.values()):
        command += [str(program)] if index == 0 else ["-object", str(program)]
    exported = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    files = {}
    for file in exported["data"][0]["files"]:
        name = os.path.relpath(os.path.normpath(os.path.join(root / "build/fuzz-coverage", file["filename"])), root)
        if name.startswith("src/"):
            files[name] = file
    print(f"{'file':40} {'regions':>8} {'reached':>8} {'%':>6}")
    for name, file in sorted(files.items()):
        regions = file["summary"]["regions"]
        mark = " *" if name in COMPLETE else ""
        print(f"{name:40} {regions['count']:8} {regions['covered']:8} {regions['percent']:6.1f}{mark}")
    print("* has to be reached completely, but for the exceptions of docs/fuzzing.md")
    for name in COMPLETE:
        lines = uncovered_lines(files[name]) if name in files else []
        text = (root / name).read_text().splitlines()
        for line in lines if full else []:
            print(f"{name}:{line}: {text[line - 1].strip()}")
    missing = [name for name in COMPLETE if name not in files]
    if missing:
        print(f"not reached at all: {', '.join(missing)}")
    return not missing
