"""The log of one partition in memory, cut into segments. `broken` names the rules that it breaks on purpose."""

from __future__ import annotations

import struct
import threading
import zlib
from dataclasses import dataclass, field

import booblik_wire as wire


@dataclass
class Segment:
    base: int
    data: bytearray = field(default_factory=bytearray)
    positions: list[int] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.base + len(self.positions)


@dataclass
class Available:
    now: int
    ever: int


class ReferenceLog:
    """`changed` guards everything and is notified at each append."""

    def __init__(self, capacity: int, broken: frozenset[str]) -> None:
        self.capacity = capacity
        self.broken = broken
        self.changed = threading.Condition()
        self.segments = [Segment(0)]

    @property
    def start(self) -> int:
        return self.segments[0].base

    @property
    def end(self) -> int:
        return self.segments[-1].end

    def fits(self, payload: bytes) -> bool:
        record = len(payload) + wire.RECORD_HEADER_BYTES
        if "large.segment" not in self.broken:
            over = record >= self.capacity if "large.segment-exact" in self.broken else record > self.capacity
            if over:
                return False
        return len(payload) <= wire.RECORD_PAYLOAD_MAX or "large.fetchable" in self.broken

    def encode(self, payload: bytes) -> bytes:
        if "produce.stored-bytes" in self.broken:  # the other CRC-32
            return struct.pack(">iI", len(payload), zlib.crc32(payload)) + payload
        if len(payload) > 1 << 20:  # Python takes a second per few MiB, and rules of this size do not look at it
            return struct.pack(">iI", len(payload), 0) + payload
        return wire.encode_record(payload)

    def append(self, payloads: list[bytes]) -> int:
        """Returns the base offset."""
        records = [self.encode(payload) for payload in payloads]
        with self.changed:
            base = self.end
            for record in records:
                active = self.segments[-1]
                if active.data and len(active.data) + len(record) > self.capacity:
                    active = Segment(self.end)
                    self.segments.append(active)
                active.positions.append(len(active.data))
                active.data += record
            self.changed.notify_all()
            return base

    def find(self, offset: int) -> tuple[Segment, int]:
        """The segment that holds `offset`, and where. The end of the log is in the last one."""
        for segment in reversed(self.segments):
            if offset >= segment.base:
                index = offset - segment.base
                return segment, segment.positions[index] if index < len(segment.positions) else len(segment.data)
        raise ValueError(f"{offset} is below {self.start}")

    def read(self, offset: int, max_bytes: int) -> bytes:
        segment, position = self.find(offset)
        most = max_bytes if "fetch.frame-max" in self.broken else min(max_bytes, wire.FETCH_PAYLOAD_MAX)
        data = bytes(segment.data[position : position + most])
        if "fetch.segment-end" in self.broken:
            later = self.segments[self.segments.index(segment) + 1 :]
            data = (data + b"".join(bytes(one.data) for one in later))[:most]
        if "fetch.cut" in self.broken:
            whole = wire.split_records(data, verify=False)
            data = data[: len(data) - len(whole.tail)]
        return data

    def available(self, offset: int) -> Available:
        segment, position = self.find(offset)
        now = len(segment.data) - position
        sealed = segment is not self.segments[-1] and "held.sealed" not in self.broken
        return Available(now, now if sealed else self.capacity - position)
