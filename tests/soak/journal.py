"""What a client did and what it was told, line by line, for the check after the restart.

    C                                    a new connection
    S BATCH PARTITION ACK FIRST COUNT    about to send that batch, with the records FIRST, FIRST + 1, ...
    A BATCH BASE                         answered: stored from offset BASE on
    R PARTITION OFFSET RECORD RECORD ..  these records were read there
    V SENTENCE                           the broker did what it must not do

A line of what is sent is in the file before the bytes go out, so a batch that is not here was never sent.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import records


class Writer:
    def __init__(self, path: Path) -> None:
        self._file = open(path, "a", encoding="ascii")
        self._batches = 0

    def connected(self) -> None:
        self._file.write("C\n")

    def sending(self, partition: int, ack: int, first: int, count: int) -> int:
        self._batches += 1
        self._file.write(f"S {self._batches} {partition} {ack} {first} {count}\n")
        return self._batches

    def answered(self, batch: int, base: int) -> None:
        self._file.write(f"A {batch} {base}\n")

    def read(self, partition: int, offset: int, found: list[int]) -> None:
        self._file.write(f"R {partition} {offset} {' '.join(map(str, found))}\n")

    def violation(self, sentence: str) -> None:
        self._file.write("V " + " ".join(sentence.split()) + "\n")

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


@dataclass
class Batch:
    connection: int  # batches of one client on one connection take effect in their order
    partition: int
    ack: int
    first: int
    count: int
    base: int | None = None  # of the answer

    def numbers(self) -> range:
        return range(self.first, self.first + self.count)


@dataclass
class Round:
    """The journals of all clients since the last check."""

    batches: list[Batch] = field(default_factory=list)  # one client's behind another's, each in its order
    reads: list[tuple[int, int, list[int]]] = field(default_factory=list)  # partition, offset, records
    violations: list[str] = field(default_factory=list)
    connections: int = 0

    def add(self, path: Path) -> None:
        """Reads one client's journal."""
        own: list[Batch] = []
        self.connections += 1
        for line in path.read_text(encoding="ascii").splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "V":
                self.violations.append(f"{path.name}: {rest}")
                continue
            numbers = [int(word) for word in rest.split()]
            if kind == "C":
                self.connections += 1
            elif kind == "S":
                own.append(Batch(self.connections, *numbers[1:]))
            elif kind == "A":
                own[numbers[0] - 1].base = numbers[1]
            elif kind == "R":
                self.reads.append((numbers[0], numbers[1], numbers[2:]))
        self.batches += own

    def acked(self) -> Counter[int]:
        """Acknowledged records by ack policy."""
        counts: Counter[int] = Counter()
        for batch in self.batches:
            if batch.base is not None:
                counts[batch.ack] += batch.count
        return counts

    def next_sequences(self) -> dict[int, int]:
        """By writer: behind the last record that it sent."""
        ends: dict[int, int] = {}
        for batch in self.batches:
            writer = batch.first >> 40
            ends[writer] = max(ends.get(writer, 0), (batch.first & records.SEQUENCE_MASK) + batch.count)
        return ends
