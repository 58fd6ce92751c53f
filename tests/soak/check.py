"""The promises, checked against the journals after each restart.

Violation says which one was broken, with the offset. What is checked is what stands in docs/soak.md.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right
from dataclasses import dataclass, field

import booblik_wire as wire
import journal
import records
from booblik_socket import Connection, Misbehaviour

TOPIC = "soak"
CHECKSUM_ONE_IN = 16  # Python is slow at them; the bytes themselves are compared in every record


class Violation(Exception):
    """A promise that was not kept."""


@dataclass
class Known:
    """What a partition held at the last check: none of it may change, and only retention may take it."""

    start: int = 0
    values: array[int] = field(default_factory=lambda: array("Q"))
    bytes: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.values)


@dataclass
class Checked:
    """How much was compared."""

    stored: int = 0  # records read back, every byte of them
    acked: int = 0  # acknowledged ones looked up
    seen: int = 0  # ones that a reader had seen looked up
    survived: int = 0  # ones that were there at the last check

    def add(self, other: Checked) -> None:
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def read_log(connection: Connection, partition: int) -> Known:
    """Everything that the broker serves, read as a consumer does."""
    for _ in range(20):
        told = connection.partition(TOPIC, partition)
        found = Known(told.log_start_offset)
        try:
            while found.end < told.high_watermark:
                payload = connection.fetch(TOPIC, found.end, 1 << 20, partition).payload
                if take_records(payload, partition, found) == 0:
                    raise Violation(f"partition {partition}: no whole record at {found.end}, and the end is {told.high_watermark}")
        except Misbehaviour as error:
            if error.args[0].endswith("got OFFSET_OUT_OF_RANGE") and connection.partition(TOPIC, partition).log_start_offset > found.end:
                continue  # retention was faster
            raise Violation(f"partition {partition}: the records from {found.end} on cannot be read: {error}") from error
        if found.end != told.high_watermark:
            raise Violation(f"partition {partition}: the log should end at {told.high_watermark}, its records end at {found.end}")
        return found
    raise Violation(f"partition {partition}: retention removes segments faster than they can be read")


def take_records(payload: bytes, partition: int, found: Known) -> int:
    at = count = 0
    while at + wire.RECORD_HEADER_BYTES <= len(payload):
        size, checksum = struct.unpack_from(">iI", payload, at)
        end = at + wire.RECORD_HEADER_BYTES + size
        where = f"partition {partition}, offset {found.end}"
        if size <= 0:
            raise Violation(f"{where}: a record of size {size}")
        if end > len(payload):
            break
        data = payload[at + wire.RECORD_HEADER_BYTES : end]
        number = records.identity_in(data)
        if number is None or records.payload(number) != data:
            raise Violation(f"{where}: {size} bytes that nobody sent: {data[:60]!r}")
        if number % CHECKSUM_ONE_IN == 0 and wire.crc32c(data) != checksum:
            raise Violation(f"{where}: the checksum is not that of record {records.named(number)}")
        found.values.append(number)
        found.bytes += end - at
        at = end
        count += 1
    return count


class PartitionCheck:
    """One partition after a restart: `before` is what it held at the last check, `after` what it holds now."""

    def __init__(self, partition: int, before: Known, after: Known, done: journal.Round, retention_bytes: int | None) -> None:
        self.partition = partition
        self.before = before
        self.after = after
        self.batches = [batch for batch in done.batches if batch.partition == partition]
        self.reads = [(offset, numbers) for number, offset, numbers in done.reads if number == partition]
        self.retention_bytes = retention_bytes
        self.checked = Checked(stored=len(after.values))

    def fail(self, sentence: str) -> None:
        raise Violation(f"partition {self.partition}: {sentence}")

    def run(self) -> Checked:
        self.check_start()
        self.checked.survived += self.check_range(self.before.start, self.before.values, "was there after the last restart")
        self.check_new_records()
        for batch in self.batches:
            if batch.base is not None:
                policy = "FORCED" if batch.ack == wire.ACK_FORCED else "WRITTEN"
                self.checked.acked += self.check_range(batch.base, batch.numbers(), f"was acknowledged {policy}")
        for offset, numbers in self.reads:
            self.checked.seen += self.check_range(offset, numbers, "was seen by a reader")
        self.check_silent_ones()
        return self.checked

    def check_start(self) -> None:
        before, after = self.before, self.after
        if after.start < before.start:
            self.fail(f"the log begins at {after.start}, and began at {before.start}")
        if after.end < before.end:
            self.fail(f"the log ends at {after.end}, and ended at {before.end}")
        if after.start > before.start and (self.retention_bytes is None or after.bytes < self.retention_bytes):
            self.fail(
                f"the log began at {before.start} and begins at {after.start}, which leaves {after.bytes} bytes: "
                f"retention keeps {self.retention_bytes or 'all'}"
            )

    def check_range(self, first: int, numbers: array[int] | range | list[int], why: str) -> int:
        """That these records are at their offsets, unless retention took them; how many were compared."""
        after = self.after
        skip = min(max(0, after.start - first), len(numbers))
        at = first + skip - after.start
        if after.values[at : at + len(numbers) - skip] == array("Q", numbers[skip:]):
            return len(numbers) - skip
        for index in range(skip, len(numbers)):
            offset = first + index
            wanted = records.named(numbers[index])
            if offset >= after.end:
                self.fail(f"offset {offset}, record {wanted}, {why} and is gone: the log ends at {after.end}")
            if after.values[offset - after.start] != numbers[index]:
                found = records.named(after.values[offset - after.start])
                self.fail(f"offset {offset}: record {wanted} {why}, now it is {found}")
        raise AssertionError("the slices differ, so some record does")

    def check_new_records(self) -> None:
        """Each was sent since the last check, is there once, in its writer's order, and behind the rest of its batch."""
        sent = sorted(self.batches, key=lambda batch: batch.first)
        firsts = [batch.first for batch in sent]
        last: dict[int, int] = {}
        previous = -1
        begin = max(self.before.end, self.after.start)
        for offset in range(begin, self.after.end):
            number = self.after.values[offset - self.after.start]
            place = bisect_right(firsts, number) - 1
            batch = sent[place] if place >= 0 else None
            name = f"offset {offset}: record {records.named(number)}"
            if batch is None or number not in batch.numbers():
                self.fail(f"{name} was not sent to this partition since the last check")
                return
            writer = number >> 40
            if number <= last.get(writer, -1):
                self.fail(f"{name} comes behind {records.named(last[writer])} of the same writer")
            if number != batch.first and previous != number - 1 and offset > begin:
                self.fail(f"{name} is not behind the record before it in its batch")
            last[writer] = number
            previous = number

    def check_silent_ones(self) -> None:
        """On one connection an acknowledged batch proves that what was sent before it without an answer is stored."""
        if self.after.start > self.before.end:
            return  # some may have been taken by retention already
        stored = set(self.after.values[self.before.end - self.after.start :])
        last_acked: dict[int, int] = {}
        for batch in self.batches:
            if batch.base is not None:
                last_acked[batch.connection] = batch.first
        for batch in self.batches:
            if batch.ack == wire.ACK_NONE and batch.first < last_acked.get(batch.connection, -1):
                missing = [number for number in batch.numbers() if number not in stored]
                if missing:
                    self.fail(
                        f"record {records.named(missing[0])}, sent without an answer, is gone, and a later one of "
                        "its connection was acknowledged"
                    )


def check_all(
    connection: Connection, known: dict[int, Known], done: journal.Round, retention_bytes: int | None
) -> Checked:
    """Checks every partition and makes `known` what they hold now. Raises Violation."""
    if done.violations:
        raise Violation("; ".join(done.violations[:5]))
    total = Checked()
    for partition, before in known.items():
        after = read_log(connection, partition)
        total.add(PartitionCheck(partition, before, after, done, retention_bytes).run())
        known[partition] = after
    return total
