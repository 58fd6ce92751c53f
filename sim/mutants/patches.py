"""The mutants: one patch each, whose first line says `the mistake | breaks: the promise`."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).resolve().parent
_HEADER = re.compile(r"(?P<mistake>\S.*\S) \| breaks: (?P<promise>\S.*\S)")
_TOUCHED = re.compile(r"^\+\+\+ b/(\S+)$", re.MULTILINE)


class MutantError(Exception):
    """Something that whoever runs this can mend; the text says what and where."""


@dataclass(frozen=True)
class Mutant:
    name: str
    path: Path
    mistake: str
    promise: str
    files: tuple[str, ...]


def read_mutant(path: Path) -> Mutant:
    text = path.read_text(encoding="utf-8")
    first = text.split("\n", 1)[0]
    header = _HEADER.fullmatch(first)
    if header is None:
        raise MutantError(f"{path.name}:1: write `the mistake | breaks: the promise`, not `{first}`")
    files = tuple(_TOUCHED.findall(text))
    if not files:
        raise MutantError(f"{path.name}: it changes no file")
    return Mutant(path.stem, path, header["mistake"], header["promise"], files)


def read_mutants(names: list[str] | None = None, folder: Path = FOLDER) -> list[Mutant]:
    """All of them in the order of their names, or those that are named."""
    mutants = {path.stem: read_mutant(path) for path in sorted(folder.glob("*.patch"))}
    unknown = [name for name in names or [] if name not in mutants]
    if unknown:
        raise MutantError(f"there is no sim/mutants/{unknown[0]}.patch")
    if not mutants:
        raise MutantError(f"there is no patch in {folder}")
    return [mutants[name] for name in names] if names else list(mutants.values())


def apply_problem(mutant: Mutant, tree: Path, *, check_only: bool) -> str | None:
    """Applies the patch to a copy of the project (or only tries to); what git says when it cannot."""
    # A copy below build/ is not to be taken for a part of the repository around it.
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(tree.parent)}
    command = ["git", "apply", *(["--check"] if check_only else []), str(mutant.path)]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip()
