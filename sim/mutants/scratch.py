"""A copy of the project below build/, where a mutant is applied, built and taken back."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from patches import TOP, Mutant, MutantError, apply_problem

PROGRAM = "booblik-sim"


class Scratch:
    """`run` runs a command to its end and is stopped with the whole program; it returns exit code and output."""

    def __init__(self, folder: Path, jobs: int, run: Callable[..., tuple[int, str]]) -> None:
        self._folder = folder
        self._tree = folder / "tree"
        self._build = self._tree / "build" / "release"
        self._jobs = jobs
        self._run = run

    def prepare(self) -> Path:
        """The copy, up to date, and the unchanged program of it."""
        self._copy()
        if not (self._build / "build.ninja").is_file():
            environment = os.environ | {"CXX": os.environ.get("CXX", "g++")}
            command = ["meson", "setup", str(self._build), "--buildtype=release"]
            code, output = self._run(command, cwd=self._tree, env=environment)
            if code != 0:
                raise MutantError(f"meson could not set up the copy:\n{output}")
        problem = self._compile()
        if problem:
            raise MutantError(f"the unchanged program does not build:\n{problem}")
        return self._take_program("unchanged")

    def build(self, mutant: Mutant) -> tuple[Path | None, str]:
        """The program with the mutant in it, or what is wrong. The copy is as it was before, afterwards."""
        problem = apply_problem(mutant, self._tree, check_only=False)
        if problem:
            return None, f"does not apply: {problem.splitlines()[0]}"
        try:
            problem = self._compile()
            if problem:
                return None, f"does not build: {problem}"
            return self._take_program(mutant.name), ""
        finally:
            for name in mutant.files:
                # A new time on purpose: ninja has to see that the file changed back.
                (self._tree / name).write_bytes((TOP / name).read_bytes())

    def _copy(self) -> None:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=TOP, capture_output=True, text=True, check=False,
        )
        if listed.returncode != 0:
            raise MutantError(f"the files of the project cannot be listed: {listed.stderr.strip()}")
        names = {name for name in listed.stdout.split("\0") if name and (TOP / name).is_file()}
        for old in [path for path in self._tree.rglob("*") if path.is_file()]:
            name = old.relative_to(self._tree).as_posix()
            if name not in names and not name.startswith("build/"):
                old.unlink()
        for name in names:
            source, copy = TOP / name, self._tree / name
            if not copy.is_file() or copy.read_bytes() != source.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, copy)
                copy.chmod(source.stat().st_mode)

    def _compile(self) -> str:
        ninja = os.environ.get("NINJA", "ninja")
        code, output = self._run([ninja, "-j", str(self._jobs), "-C", str(self._build), PROGRAM], cwd=self._tree)
        if code == 0:
            return ""
        wrong = [line for line in output.splitlines() if "error" in line] or output.splitlines()[-1:]
        return wrong[0] if wrong else f"ninja ended with {code}"

    def _take_program(self, name: str) -> Path:
        taken = self._folder / name
        shutil.copy2(self._build / PROGRAM, taken)
        return taken
