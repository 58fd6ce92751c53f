"""Replays the seeds of sim/regressions, twice each."""

import subprocess
import sys
from pathlib import Path


def main(program: str, listing: str) -> int:
    passed = failed = 0
    for line in Path(listing).read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        mode, seed = line.split()[:2]
        run = subprocess.run([program, "--seed", seed, "--mode", mode, "--check-determinism"], capture_output=True, text=True)
        passed += run.returncode == 0
        failed += run.returncode != 0
        if run.returncode != 0:
            print(f"--mode {mode} --seed {seed}: exit code {run.returncode}\n{run.stdout}{run.stderr}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
