#!/usr/bin/env python3
"""Measures the broker on this machine: `./dev bench`.

Starts one broker in a directory on a real disk, puts each load of LOADS on it RUNS times, and prints the medians as a table, with
what is needed to read them: machine, kernel, file system, load. Everything goes over loopback, load generator and
broker share the cores, and all loads are bounded in time. Two rules come from the machine that this was written on:

* Memory that was idle is slow to touch first, so the broker keeps its log small (retention) and the page cache reuses pages
  that are warm, and every load warms up before it is counted.
* tmpfs tells nothing about durability, so it is refused.
"""

import argparse
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

RETENTION = ["--segment-capacity-bytes", "134217728", "--retention-bytes", "1073741824", "--retention-check-millis", "300"]


@dataclass(frozen=True)
class Load:
    name: str
    command: list[str]


LOADS = [
    Load("PRODUCE written, 8 connections, 10 x 128 B, depth 64", ["bench-produce"]),
    Load("PRODUCE written, 1 connection, 10 x 128 B, depth 64", ["bench-produce", "--connections", "1"]),
    Load("PRODUCE written, 8 connections, 100 x 1 KiB, depth 8",
         ["bench-produce", "--batch", "100", "--record-bytes", "1024", "--depth", "8"]),
    Load("PRODUCE forced, 8 connections, 10 x 128 B, depth 64", ["bench-produce", "--acks", "forced"]),
    Load("PRODUCE forced, 1 connection, 10 x 128 B, depth 1",
         ["bench-produce", "--acks", "forced", "--connections", "1", "--depth", "1"]),
    Load("PRODUCE written, open loop 10 000 records/s, 1 x 128 B", ["bench-produce", "--rate", "10000", "--batch", "1"]),
    Load("PRODUCE forced, open loop 10 000 records/s, 1 x 128 B",
         ["bench-produce", "--rate", "10000", "--batch", "1", "--acks", "forced"]),
    Load("PRODUCE written, open loop 1 M records/s, 10 x 128 B", ["bench-produce", "--rate", "100000"]),
    Load("FETCH, 1 connection, 1 MiB answers", ["bench-fetch"]),
    Load("FETCH, 1 connection, 1 MiB answers, checksums verified", ["bench-fetch", "--verify"]),
    Load("FETCH, 4 connections, 64 KiB answers", ["bench-fetch", "--connections", "4", "--max-bytes", "65536"]),
]


def file_system(path: str) -> str:
    return subprocess.run(["stat", "-f", "-c", "%T", path], check=True, capture_output=True, text=True).stdout.strip()


def processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def resident_kib(pid: int) -> int:
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


class Broker:
    def __init__(self, program: str, directory: str, flags: list[str]) -> None:
        started = time.monotonic()
        self.process = subprocess.Popen(
            [program, "serve", "--port", "0", "--data-dir", directory, "--metrics-interval-millis", "0", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("booblik listening on "):
                self.address = line.split()[-1]
                self.start_millis = (time.monotonic() - started) * 1000
                return
        raise SystemExit("the broker did not start")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)


def run_load(program: str, address: str, load: Load, seconds: float) -> dict[str, float]:
    done = subprocess.run([program, *load.command, "--broker", address, "--seconds", str(seconds), "--json"],
                          check=True, capture_output=True, text=True, timeout=seconds + 60)
    return json.loads(done.stdout)


def row(load: Load, results: list[dict[str, float]]) -> str:
    def median(key: str) -> float:
        return statistics.median(result[key] for result in results)

    rates = [result["records_per_second"] for result in results]
    cells = [load.name, f"{median('records_per_second'):,.0f}", f"{min(rates):,.0f} - {max(rates):,.0f}"]
    if "p50_us" in results[0]:
        cells.append(" / ".join(f"{median(key):.0f}" for key in ("p50_us", "p99_us", "p999_us")))
    else:
        cells.append(f"{median('bytes_per_second') / 1e9:.2f} GB/s")
    return "| " + " | ".join(cells) + " |"


def measure_starts(program: str, parent: str, runs: int) -> list[float]:
    millis = []
    for _ in range(runs):
        directory = os.path.join(parent, "empty")
        shutil.rmtree(directory, ignore_errors=True)
        broker = Broker(program, directory, [])
        millis.append(broker.start_millis)
        broker.stop()
    return millis


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the broker on this machine.")
    parser.add_argument("--program", default="build/release/booblik")
    parser.add_argument("--directory", default=".", help="where the data goes for the time of the run (a real disk)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--only", default="", help="loads whose name contains this")
    arguments = parser.parse_args()
    kind = file_system(arguments.directory)
    if kind in ("tmpfs", "ramfs"):
        sys.exit(f"{arguments.directory} is on {kind}, which tells nothing about durability; give --directory on a disk")

    print(f"{processor()}, {os.cpu_count()} cores, Linux {platform.release()}, {kind}; "
          f"median of {arguments.runs} runs of {arguments.seconds:g} s; broker and load share the cores\n")
    with tempfile.TemporaryDirectory(prefix="booblik-bench-", dir=arguments.directory) as parent:
        starts = measure_starts(arguments.program, parent, arguments.runs)
        broker = Broker(arguments.program, os.path.join(parent, "data"), RETENTION)
        idle = resident_kib(broker.process.pid)
        print("| load | records/s | least - most | p50 / p99 / p99.9 us, or bytes |\n|---|---|---|---|")
        try:
            for load in LOADS:
                if arguments.only in load.name:
                    results = [run_load(arguments.program, broker.address, load, arguments.seconds)
                               for _ in range(arguments.runs)]
                    print(row(load, results), flush=True)
            after = resident_kib(broker.process.pid)
        finally:
            broker.stop()
    print(f"\nstart-up on an empty directory: {statistics.median(starts):.1f} ms "
          f"({min(starts):.1f} - {max(starts):.1f}), process start included")
    print(f"resident: {idle / 1024:.1f} MiB idle after the start, {after / 1024:.1f} MiB after all loads")


if __name__ == "__main__":
    main()
