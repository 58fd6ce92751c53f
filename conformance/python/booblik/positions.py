"""Where consumers have got to, kept by the consumer: the broker stores no positions."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Protocol

from booblik.checksum import crc32c
from booblik.errors import PositionsDamaged

Positions = dict[tuple[str, int], int]

_TITLE = "booblik-positions 1"
_LINE = re.compile(r"^([^ \n]+) ([0-9]+) ([0-9]+)\n", re.MULTILINE)


class PositionStore(Protocol):
    def load(self, topic: str, partition: int) -> int | None:
        """The offset saved last; None when there is none."""
        ...

    def save(self, topic: str, partition: int, offset: int) -> None:
        """Survives loss of power when it returns."""
        ...


def format_positions(positions: Positions) -> bytes:
    lines = [f"{topic} {partition} {offset}\n" for (topic, partition), offset in sorted(positions.items())]
    text = "".join([_TITLE + "\n", *lines]).encode()
    return text + b"crc32c %08x\n" % crc32c(text)


def parse_positions(content: bytes) -> Positions:
    """Takes what format_positions() gives and nothing else. Raises PositionsDamaged."""
    text = content.decode(errors="replace")
    positions = {(topic, int(partition)): int(offset) for topic, partition, offset in _LINE.findall(text)}
    if format_positions(positions) != content:
        raise PositionsDamaged("this is not what was written to it, or it was written by another version")
    return positions


class FilePositionStore:
    """A text file with a line for each partition and a CRC-32C at its end, the same that `booblik consume --position-store` keeps. It is
    replaced as a whole, so that after a crash it has the old positions or the new ones. For one process at a time; its threads may share it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()

    def load(self, topic: str, partition: int) -> int | None:
        with self._lock:
            return self._read().get((topic, partition))

    def save(self, topic: str, partition: int, offset: int) -> None:
        if offset < 0 or partition < 0:
            raise ValueError(f"{topic}-{partition} at {offset}: neither number may be negative")
        if not topic or " " in topic or "\n" in topic:
            raise ValueError(f"'{topic}' is no topic name")
        with self._lock:
            positions = self._read()
            positions[topic, partition] = offset
            self._replace(format_positions(positions))

    def _read(self) -> Positions:
        try:
            return parse_positions(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except PositionsDamaged as damaged:
            raise PositionsDamaged(f"{self._path}: {damaged}; delete it to begin without positions") from None

    def _replace(self, content: bytes) -> None:
        new = self._path.with_name(self._path.name + ".new")
        with open(new, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self._path)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)  # or the name may lead to the old file after loss of power
        finally:
            os.close(folder)
