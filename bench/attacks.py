#!/usr/bin/env python3
"""Runs every attack of tests/process/attacks.py in full against a fresh broker, and prints the table of docs/security.md.

    python3 bench/attacks.py --program build/release/booblik

Needs a limit of open files (ulimit -Hn) above 10 000, 3 GiB of memory with what the kernel holds for sockets, and about two
minutes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/booblik"), help="the booblik program (%(default)s)")
    parser.add_argument("--directory", default=str(ROOT / "build"), help="where data may lie for the time (%(default)s)")
    parser.add_argument("--seconds", type=float, default=6.0, help="how long each attack goes on (%(default)g)")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this attack; may be repeated")
    parser.add_argument("--logs", action="store_true", help="also print what each broker said")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    os.environ["BOOBLIK_PROGRAM"] = str(Path(arguments.program).resolve())
    os.environ["BOOBLIK_TEST_DIR"] = arguments.directory
    sys.path.insert(0, str(ROOT / "tests/process"))
    import attacks
    import harness

    names = [attack.name for attack in attacks.ATTACKS]
    unknown = [name for name in arguments.only if name not in names]
    if unknown:
        print(f"attacks.py: there is no attack {', '.join(unknown)}; there are {', '.join(names)}", file=sys.stderr)
        return 2
    attacks.raise_descriptor_limit()
    outcomes = []
    for attack in attacks.ATTACKS:
        if arguments.only and attack.name not in arguments.only:
            continue
        print(f"{attack.name} ...", file=sys.stderr, flush=True)
        directory = harness.test_directory()
        try:
            with attacks.serve(directory / "data", attack) as broker:
                outcomes.append(attacks.measure(broker, attack, attack.full, arguments.seconds))
                if arguments.logs:
                    print(outcomes[-1].log, file=sys.stderr)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
    print(attacks.table(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
