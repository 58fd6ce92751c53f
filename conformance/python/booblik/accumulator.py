"""Gathers records into batches. No input or output, no clock of its own; the producer guards it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from booblik.session import Reply

# What a record takes beside its payload: objects, its future, its place in a list. A round figure from CPython 3.11.
RECORD_OVERHEAD_BYTES = 400


@dataclass
class Batch:
    """Records of one partition that travel in one request."""

    number: int
    partition: int
    born_at: float
    payloads: list[bytes] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    payload_bytes: int = 0

    @property
    def memory_bytes(self) -> int:
        return self.payload_bytes + RECORD_OVERHEAD_BYTES * len(self.payloads)


class Accumulator:
    """A batch is due when it is full, when its first record is `linger` old, or when seal() was called. Batches of one
    partition become due in the order of their records. Records count as memory until release()."""

    def __init__(self, *, batch_bytes: int, batch_records: int, linger: float, buffer_bytes: int) -> None:
        self._batch_bytes = batch_bytes
        self._batch_records = batch_records
        self._linger = linger
        self._buffer_bytes = buffer_bytes
        self._memory_bytes = 0
        self._last_number = 0
        self._open: dict[int, Batch] = {}  # by partition; dicts keep their order, so the oldest comes first
        self._sealed: deque[Batch] = deque()
        self._unsettled: dict[int, None] = {}  # numbers of the batches that are not released, in order

    def has_room(self, payload: bytes) -> bool:
        """A record larger than all of the buffer has room when it is alone."""
        needed = len(payload) + RECORD_OVERHEAD_BYTES
        return self._memory_bytes == 0 or self._memory_bytes + needed <= self._buffer_bytes

    def add(self, partition: int, payload: bytes, reply: Reply, now: float) -> bool:
        """Whether the sender has something new to look at: a batch that is full or one that was begun."""
        batch = self._open.get(partition)
        sealed = batch is not None and batch.payload_bytes + len(payload) > self._batch_bytes
        if sealed:
            self._seal(partition)
        if batch is None or sealed:
            self._last_number += 1
            batch = self._open[partition] = Batch(self._last_number, partition, now)
            self._unsettled[batch.number] = None
            sealed = True
        batch.payloads.append(payload)
        batch.replies.append(reply)
        batch.payload_bytes += len(payload)
        self._memory_bytes += len(payload) + RECORD_OVERHEAD_BYTES
        if batch.payload_bytes >= self._batch_bytes or len(batch.payloads) >= self._batch_records:
            self._seal(partition)
            sealed = True
        return sealed

    def _seal(self, partition: int) -> None:
        self._sealed.append(self._open.pop(partition))

    def seal(self) -> int:
        """Makes everything due; returns the number of the last batch there is."""
        for partition in list(self._open):
            self._seal(partition)
        return self._last_number

    def take_due(self, now: float) -> Batch | None:
        if not self._sealed and self._open:
            oldest = next(iter(self._open.values()))
            if now - oldest.born_at >= self._linger:
                self._seal(oldest.partition)
        return self._sealed.popleft() if self._sealed else None

    def seconds_to_next(self, now: float) -> float | None:
        """Until take_due() will return something; None without records."""
        if self._sealed:
            return 0.0
        for oldest in self._open.values():
            return max(0.0, oldest.born_at + self._linger - now)
        return None

    def release(self, batch: Batch) -> None:
        """Its outcome is known."""
        self._memory_bytes -= batch.memory_bytes
        del self._unsettled[batch.number]

    def settled_up_to(self, number: int) -> bool:
        """Whether the outcome of every batch up to this one is known."""
        return next(iter(self._unsettled), number + 1) > number
