#!/usr/bin/env python3
"""Crash soak: the real broker on a real disk, loaded, killed again and again, and every promise checked after each restart.

A round loads the broker through several client processes with all ack policies, ends it a few times under the load, stops the
clients, starts the broker once more and compares what it serves with what the clients' journals say. It ends by itself: 0 when
every promise was kept, 1 when one was broken (the folder is kept: data, journals, logs), 2 when the soak itself could not go on.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "process"))

import harness  # noqa: E402  first: it makes conformance importable
from booblik_socket import Misbehaviour  # noqa: E402
from check import Checked, Violation, check_all  # noqa: E402
from full_disk import Probe, full_disk  # noqa: E402
from lives import Clock, Lives  # noqa: E402
from load import PRODUCERS, READERS, Load, LoadFailed, Shape  # noqa: E402
from places import MIB, Place, SmallDisk  # noqa: E402
from plants import PLANTS, NothingToBreak  # noqa: E402

PARTITIONS = 3
DISK_BYTES_MAX = 1024 * MIB
ROUNDS_KEPT = 2  # folders with journals
PROBE_NUMBER = len(PRODUCERS) + READERS


class Soak:
    def __init__(self, options: argparse.Namespace, directory: Path) -> None:
        self.options = options
        self.directory = directory
        self.seed = options.seed
        self.draw = random.Random(self.seed)
        logs = directory / "logs"
        logs.mkdir()
        self.lives = Lives(self.draw, logs, PARTITIONS, Clock(directory / "clock-shift", options.clock_shift))
        self.small = SmallDisk(directory / "small.image", directory / "small", PARTITIONS)
        main = Place("disk", directory / "main", PARTITIONS)
        main.directory.mkdir()
        self.places: list[Place] = [main, main, self.small] if self.small.kind else [main]
        self.shape = Shape(PARTITIONS, options.rate)
        self.first_sequences: dict[int, int] = {}
        self.rounds = 0
        self.checked = Checked()
        self.acked: Counter[int] = Counter()
        self.used_bytes_max = 0
        self.began = time.monotonic()
        self.load: Load | None = None
        self.plant = PLANTS[options.plant] if options.plant else None

    def run(self) -> None:
        until = self.began + self.options.minutes * 60
        next_report = self.began + self.options.report_seconds
        while time.monotonic() < until:
            self.round(self.draw.choice(self.places))
            if time.monotonic() >= next_report:
                next_report = time.monotonic() + self.options.report_seconds
                print(self.report(), flush=True)

    def round(self, place: Place) -> None:
        self.rounds += 1
        folder = self.directory / f"round-{self.rounds:06}"
        self.lives.start(place)
        seed = f"{self.seed}/{self.rounds}"
        load = self.load = Load(folder, self.shape, self.lives.port, seed, self.first_sequences)
        self.live_and_die(place, folder)
        load.end()
        if self.plant is not None and self.rounds > 1:
            try:
                self.plant(place, folder)
            except NothingToBreak:
                pass
        done = load.journals()
        self.first_sequences.update(done.next_sequences())
        broker = self.lives.start(place)
        with broker.connect() as connection:
            self.checked.add(check_all(connection, place.known, done, place.retention_bytes))
        place.retention_bytes = self.lives.retention_bytes_now  # that life may still remove something
        self.acked += done.acked()
        self.draw.choice((self.lives.kill, self.lives.terminate))()
        self.bound_disk(place)

    def live_and_die(self, place: Place, folder: Path) -> None:
        """A few lives under one load; the last has ended behind it."""
        for _ in range(self.draw.randint(0, 2)):
            time.sleep(self.draw.uniform(0.2, self.options.life_seconds))
            self.lives.end(place)
            self.lives.start(place)
        time.sleep(self.draw.uniform(0.2, self.options.life_seconds))
        if isinstance(place, SmallDisk) and self.draw.random() < 0.7:
            first = self.first_sequences.get(PROBE_NUMBER, 0)
            full_disk(self.lives, place, Probe(self.lives.port, folder / "probe.journal", PROBE_NUMBER, first))
            self.lives.endings["a full disk on the way"] += 1
        else:
            self.lives.end(place)

    def bound_disk(self, place: Place) -> None:
        shutil.rmtree(self.directory / f"round-{self.rounds - ROUNDS_KEPT:06}", ignore_errors=True)
        used = place.used_bytes()
        self.used_bytes_max = max(self.used_bytes_max, used)
        if used > DISK_BYTES_MAX:
            raise Violation(f"{used} bytes are used by {PARTITIONS} partitions with retention; the soak allows {DISK_BYTES_MAX}")

    def report(self) -> str:
        minutes = (time.monotonic() - self.began) / 60
        endings = ", ".join(f"{how} {count}" for how, count in sorted(self.lives.endings.items()))
        return (
            f"{minutes:.1f} min: {self.rounds} rounds, {self.lives.started} starts ({self.lives.started / minutes:.1f} a minute), "
            f"checked {self.checked.stored} stored records, {self.checked.survived} known before, {self.checked.acked} acknowledged "
            f"({self.acked[1]} WRITTEN, {self.acked[2]} FORCED), {self.checked.seen} seen by readers; "
            f"slowest start {self.lives.start_seconds_max:.2f} s, most disk {self.used_bytes_max // MIB} MiB; endings: {endings}"
        )

    def clean_up(self) -> None:
        self.lives.abandon()
        if self.load is not None:
            self.load.kill()

    def keep_evidence(self, sentence: str) -> None:
        """What was known before the failed check lies beside the data."""
        text = f"{sentence}\nround {self.rounds}, seed {self.seed}\n{self.report()}\n"
        (self.directory / "failure.txt").write_text(text)
        for place in set(self.places):
            for partition, known in place.known.items():
                name = f"known-{place.name.replace(' ', '-')}-{partition}-from-{known.start}.u64"
                (self.directory / name).write_bytes(known.values.tobytes())
        if self.small.kind:  # the mount ends with this process
            shutil.copytree(self.small.directory, self.directory / "small-data", ignore_dangling_symlinks=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (5)")
    parser.add_argument("--seed", default=None, help="of everything that is drawn; the timing is the machine's own")
    parser.add_argument("--dir", type=Path, default=harness.ROOT / "build", help="where its folder is made: on a real disk")
    parser.add_argument("--rate", type=float, default=150.0, help="batches a second of each producer (150)")
    parser.add_argument("--life-seconds", type=float, default=2.5, help="the longest life under load (2.5)")
    parser.add_argument("--report-seconds", type=float, default=30.0, help="between two lines of progress (30)")
    parser.add_argument("--clock-shift", type=Path, default=None, help="the library that shifts the broker's wall clock")
    parser.add_argument("--keep", action="store_true", help="keep the folder also when all went well")
    parser.add_argument("--plant", choices=sorted(PLANTS), help="break a promise on purpose, which has to be noticed")
    options = parser.parse_args()
    options.seed = options.seed or str(random.SystemRandom().randrange(10**9))
    if options.minutes <= 0 or options.rate <= 0 or options.life_seconds < 0.2:
        parser.error("--minutes and --rate have to be above 0, --life-seconds at least 0.2")
    if options.clock_shift is not None and not options.clock_shift.is_file():
        parser.error(f"--clock-shift: there is no {options.clock_shift}")
    return options


def announce(options: argparse.Namespace, soak: Soak) -> None:
    print(f"soak: seed {options.seed}, {options.minutes:g} min, in {soak.directory}", flush=True)
    if soak.small.kind:
        print(f"soak: full disks on {soak.small.kind} of {soak.places[-1].name}")
    else:
        print(f"soak: SKIPPED: full disks: {soak.small.problem}")
    if options.clock_shift is None:
        print("soak: SKIPPED: clock jumps: no --clock-shift library")
    sys.stdout.flush()


def main() -> int:
    options = parse()
    options.dir.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="soak-", dir=options.dir))
    faulthandler.dump_traceback_later(options.minutes * 60 + 300, exit=True)
    os.setpriority(os.PRIO_PROCESS, 0, max(5, os.getpriority(os.PRIO_PROCESS, 0)))
    soak = Soak(options, directory)
    announce(options, soak)
    code, sentence = 2, "it was interrupted"
    try:
        soak.run()
        code, sentence = 0, ""
    except Violation as error:
        code, sentence = 1, f"a promise was broken: {error}"
    except (LoadFailed, Misbehaviour, OSError) as error:
        sentence = f"{type(error).__name__}: {error}"
    except KeyboardInterrupt:
        pass
    finally:
        soak.clean_up()
        print(soak.report())
        if code == 0 and not options.keep:
            soak.small.unmount()
            shutil.rmtree(directory, ignore_errors=True)
        elif code != 0:
            soak.keep_evidence(sentence)
            soak.small.unmount()
        print(f"soak: {'ok' if code == 0 else f'FAILED: {sentence}; see {directory}'}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
