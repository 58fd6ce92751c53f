"""Takes the payload of a FETCH apart."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from booblik.checksum import crc32c
from booblik.errors import BooblikError, CorruptRecord, RecordExceedsMaxBytes
from booblik.wire import RECORD_HEADER_BYTES, Fetched


@dataclass(frozen=True)
class Record:
    offset: int
    payload: bytes


@dataclass(frozen=True)
class Batch:
    """Records without a gap; empty when there was nothing new."""

    records: tuple[Record, ...]
    next_offset: int  # where to go on, also when it is empty
    high_watermark: int  # of the log when the batch was read

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True)
class Split:
    records: tuple[Record, ...]  # whole, with the right checksum
    problem: BooblikError | None  # what makes it impossible to go on behind them


def split_records(payload: bytes, offset: int, max_bytes: int) -> Split:
    """`offset` is that of the first record, `max_bytes` what was asked for. A cut record at the end is dropped: the
    next FETCH begins with it. It is a problem only when it stands alone, for then no FETCH of this size can bring it."""
    records: list[Record] = []
    at, end = 0, len(payload)
    while end - at >= RECORD_HEADER_BYTES:
        size, checksum = struct.unpack_from(">iI", payload, at)
        if size <= 0:
            return Split(tuple(records), CorruptRecord(offset, f"its size is {size}"))
        begin = at + RECORD_HEADER_BYTES
        if size > end - begin:
            break
        data = payload[begin : begin + size]
        if crc32c(data) != checksum:
            return Split(tuple(records), CorruptRecord(offset, f"its checksum is {crc32c(data):08x}, stored is {checksum:08x}"))
        records.append(Record(offset, data))
        offset += 1
        at = begin + size
    if at < end and not records:
        known = struct.unpack_from(">i", payload)[0] if end >= 4 else None
        if known is not None and known <= 0:
            return Split((), CorruptRecord(offset, f"its size is {known}"))
        return Split((), RecordExceedsMaxBytes(offset, known, max_bytes))
    return Split(tuple(records), None)


def batch_of(fetched: Fetched, offset: int, max_bytes: int) -> Batch:
    """The whole records of an answer. Raises CorruptRecord or RecordExceedsMaxBytes when the first one is not to be had;
    a corrupt one behind others is met by the next FETCH."""
    split = split_records(fetched.payload, offset, max_bytes)
    if split.problem is not None and not split.records:
        raise split.problem
    return Batch(split.records, offset + len(split.records), fetched.high_watermark)
