#!/usr/bin/env python3
"""Measures the C++ library on this machine: one producer thread, then one consumer thread, each through the public headers.

    ./dev build && ninja -C build/release bench/client_bench
    python3 bench/client.py --runs 5 --seconds 3

A broker in a folder on a real disk is pinned to one core, `client_bench` (its user thread and the library's thread) to the others. Records
have 128 B. Beside the figures stand those of the load generator (`booblik bench-produce`, `bench-fetch`), which builds its
requests once and does nothing for a record: the limit of this broker on these cores.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from suite import RETENTION, Broker, file_system  # noqa: E402

GOALS = {"produce written": 1_500_000, "consume": 3_000_000}
RAW = {
    "produce written": ["bench-produce", "--connections", "1", "--batch", "1000", "--depth", "16"],
    "consume": ["bench-fetch", "--verify"],
}


def arguments() -> argparse.Namespace:
    build = Path(__file__).resolve().parents[1] / "build/release"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(build / "booblik"))
    parser.add_argument("--client-bench", default=str(build / "bench/client_bench"))
    parser.add_argument("--dir", default=str(build), help="where the data goes: not a tmpfs (default: the build folder)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    return parser.parse_args()


def pinned(cores: set[int], *command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores)).stdout


def raw_rate(options: argparse.Namespace, cores: set[int], address: str, what: str) -> int:
    command = [options.program, *RAW[what], "--broker", address, "--topic", "bench", "--seconds", str(options.seconds), "--json"]
    return int(json.loads(pinned(cores, *command))["records_per_second"])


def row(name: str, rates: list[int], goal: str) -> str:
    return f"| {name} | {int(statistics.median(rates)):,} | {min(rates):,} - {max(rates):,} | {goal} |"


def main() -> int:
    options = arguments()
    if file_system(options.dir) == "tmpfs":
        print("client.py: a tmpfs says nothing about a log; name a folder on a disk with --dir", file=sys.stderr)
        return 2
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("client.py: broker and client need a core each", file=sys.stderr)
        return 2
    rest = set(cores[1:])
    data = tempfile.mkdtemp(prefix="client-bench-", dir=options.dir)
    broker = Broker(options.program, data, ["--topics", "bench:1", *RETENTION])
    try:
        for task in os.listdir(f"/proc/{broker.process.pid}/task"):
            os.sched_setaffinity(int(task), {cores[0]})
        print("| one thread, 128 B | records/s | least - most | goal |\n|---|---|---|---|", flush=True)
        for what, verb in (("produce written", ["produce"]), ("consume", ["consume"])):
            command = [options.client_bench, verb[0], broker.address, "bench", str(options.seconds)]
            pinned(rest, *command)  # warms memory and files up
            rates = [int(pinned(rest, *command)) for _ in range(options.runs)]
            print(row(f"library, {what}", rates, f"{GOALS[what]:,}"), flush=True)
            raw = [raw_rate(options, rest, broker.address, what) for _ in range(options.runs)]
            print(row(f"load generator, {what}", raw, "-"), flush=True)
    finally:
        broker.process.terminate()
        broker.process.wait()
        shutil.rmtree(data, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
