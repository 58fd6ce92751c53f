"""Broken promises on purpose, between a load and its check: the soak has to notice each, or it proves nothing."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path
from typing import Callable

from places import Place


class NothingToBreak(Exception):
    """This round stored nothing that could be broken; the next one may."""


def _segments(place: Place) -> list[Path]:
    """Of partition 0, oldest first, without empty ones."""
    return [path for path in sorted((place.data / "soak-0").glob("*.log")) if path.stat().st_size > 0]


def _last(place: Place) -> Path:
    segments = _segments(place)
    if not segments:
        raise NothingToBreak
    return segments[-1]


def flipped_byte(place: Place, _: Path) -> None:
    with open(_last(place), "r+b") as file:
        file.seek(os.fstat(file.fileno()).st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


def lost_tail(place: Place, _: Path) -> None:
    newest = _last(place)
    os.truncate(newest, newest.stat().st_size // 2)


def doubled_record(place: Place, _: Path) -> None:
    data = _last(place).read_bytes()
    at = previous = 0
    while at < len(data):
        previous, at = at, at + 8 + int(struct.unpack_from(">i", data, at)[0])
    with open(_last(place), "ab") as file:
        file.write(data[previous:])


def forgotten_record(_: Place, journals: Path) -> None:
    """The journal of a producer forgets the last record of an acknowledged batch."""
    for path in sorted(journals.glob("produce-*.journal")):
        text = path.read_text()
        acked = set(re.findall(r"^A (\d+) ", text, re.MULTILINE))
        for found in re.finditer(r"^S (\d+) (\d+ \d+ \d+) (\d+)$", text, re.MULTILINE):
            if found[1] in acked and int(found[3]) > 1:
                line = f"S {found[1]} {found[2]} {int(found[3]) - 1}"
                path.write_text(text[: found.start()] + line + text[found.end() :])
                return
    raise NothingToBreak


def invented_ack(_: Place, journals: Path) -> None:
    """The journal of a producer says that a batch was acknowledged one offset later than it was."""
    for path in sorted(journals.glob("produce-*.journal")):
        text = path.read_text()
        found = list(re.finditer(r"^A (\d+) (\d+)$", text, re.MULTILINE))
        if found:
            last = found[-1]
            path.write_text(f"{text[: last.start()]}A {last[1]} {int(last[2]) + 1}{text[last.end() :]}")
            return
    raise NothingToBreak


PLANTS: dict[str, Callable[[Place, Path], None]] = {
    plant.__name__: plant for plant in (flipped_byte, lost_tail, doubled_record, forgotten_record, invented_ack)
}
