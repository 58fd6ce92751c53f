"""Where consumers have got to, kept by the consumer: the broker stores no positions."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Protocol

from booblik.checksum import crc32c
from booblik.errors import PositionsDamaged

_TITLE = "booblik positions 1"


class PositionStore(Protocol):
    def load(self, topic: str, partition: int) -> int | None:
        """The offset saved last; None when there is none."""
        ...

    def save(self, topic: str, partition: int, offset: int) -> None:
        """Survives loss of power when it returns."""
        ...


class FilePositionStore:
    """A text file with a line for each partition and a CRC-32C at its end. It is replaced as a whole, so that after a crash it has the old
    positions or the new ones. For one process at a time; its threads may share it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()

    def load(self, topic: str, partition: int) -> int | None:
        with self._lock:
            return self._read().get((topic, partition))

    def save(self, topic: str, partition: int, offset: int) -> None:
        if offset < 0:
            raise ValueError(f"offset {offset} is negative")
        if not topic or any(character in topic for character in "\t\n\r"):
            raise ValueError(f"'{topic}' is no topic name")
        with self._lock:
            positions = self._read()
            positions[topic, partition] = offset
            self._replace(positions)

    def _read(self) -> dict[tuple[str, int], int]:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        lines, newline, checksum = content.rpartition(b"crc32c\t")
        if not newline or checksum != b"%08x\n" % crc32c(lines):
            raise PositionsDamaged(f"{self._path}: the checksum is wrong; delete the file to begin without positions")
        title, *rows = lines.decode().split("\n")[:-1]
        if title != _TITLE:
            raise PositionsDamaged(f"{self._path}: it begins with '{title}', expected is '{_TITLE}'")
        fields = (row.split("\t") for row in rows)
        return {(topic, int(partition)): int(offset) for topic, partition, offset in fields}

    def _replace(self, positions: dict[tuple[str, int], int]) -> None:
        rows = [f"{topic}\t{partition}\t{offset}" for (topic, partition), offset in sorted(positions.items())]
        lines = "".join(f"{line}\n" for line in (_TITLE, *rows)).encode()
        new = self._path.with_name(self._path.name + ".new")
        with open(new, "wb") as file:
            file.write(lines + b"crc32c\t%08x\n" % crc32c(lines))
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self._path)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)  # or the name may lead to the old file after loss of power
        finally:
            os.close(folder)
