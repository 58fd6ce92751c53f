"""Requests, and how their answers are read (docs/protocol.md). No input or output happens here."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import ClassVar, Generic, Sequence, TypeVar

from booblik.codes import Ack, ErrorCode
from booblik.errors import BadAnswer

FRAME_LENGTH_MAX = 8_388_608  # of a frame in either direction, without its length field
RESPONSE_HEADER_BYTES = 6
RECORD_HEADER_BYTES = 8
TOPIC_NAME_MAX = 249  # bytes of UTF-8
MAX_BYTES_MAX = 2**31 - 1

A = TypeVar("A")


def within(name: str, value: float, least: float, most: float) -> None:
    """Raises ValueError for an option outside its range."""
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}, allowed is {least} to {most}")


class Reader:
    """The body of an answer, field by field."""

    def __init__(self, body: bytes, what: str) -> None:
        self._body = body
        self._at = 0
        self._what = what

    def take(self, count: int) -> bytes:
        if count < 0 or count > len(self._body) - self._at:
            raise BadAnswer(f"the answer to {self._what} has a field of {count} bytes where {len(self._body) - self._at} are left")
        self._at += count
        return self._body[self._at - count : self._at]

    def numbers(self, layout: str) -> tuple[int, ...]:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def finish(self) -> None:
        if self._at != len(self._body):
            raise BadAnswer(f"the answer to {self._what} has {len(self._body) - self._at} bytes behind its last field")


class Request(Generic[A]):
    """`A` is what its answer says."""

    api_key: ClassVar[int]
    answered = True  # PRODUCE with Ack.NONE is not

    @property
    def version(self) -> int:
        return 1

    def body(self) -> bytes:
        """Raises ValueError for what no broker may be sent."""
        raise NotImplementedError

    def read(self, reader: Reader) -> A:
        raise NotImplementedError

    def describe(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class Produced:
    base_offset: int  # of the first record; the others follow without a gap
    log_end_offset: int


@dataclass(frozen=True)
class Fetched:
    high_watermark: int  # the first offset that does not exist yet
    payload: bytes  # stored records; the last may be cut


@dataclass(frozen=True)
class PartitionInfo:
    number: int
    log_start_offset: int
    high_watermark: int


@dataclass(frozen=True)
class TopicInfo:
    name: str
    partitions: tuple[PartitionInfo, ...]


def encode_topic(topic: str) -> bytes:
    name = topic.encode()
    if not 1 <= len(name) <= TOPIC_NAME_MAX:
        raise ValueError(f"a topic name has 1 to {TOPIC_NAME_MAX} bytes of UTF-8; '{topic[:50]}' has {len(name)}")
    return struct.pack(">H", len(name)) + name


@dataclass(frozen=True)
class Produce(Request[Produced | None]):
    """All records go to one partition. An empty record cannot be stored, so neither it nor an empty batch may be sent."""

    topic: str
    partition: int
    payloads: Sequence[bytes]
    ack: Ack = Ack.WRITTEN

    api_key = 1

    @property
    def answered(self) -> bool:  # type: ignore[override]
        return self.ack is not Ack.NONE

    def body(self) -> bytes:
        if not self.payloads or not all(self.payloads):
            raise ValueError("a PRODUCE needs at least one record, and no record may be empty")
        parts = [encode_topic(self.topic), struct.pack(">ibi", self.partition, self.ack, len(self.payloads))]
        for payload in self.payloads:
            parts += (struct.pack(">i", len(payload)), payload)
        return b"".join(parts)

    def read(self, reader: Reader) -> Produced:
        base, end = reader.numbers(">qq")
        if not 0 <= base <= end - len(self.payloads):
            raise BadAnswer(f"{len(self.payloads)} records cannot lie at {base} in a log that ends at {end}")
        return Produced(base, end)

    def describe(self) -> str:
        return f"PRODUCE to {self.topic}-{self.partition}"


@dataclass(frozen=True)
class Fetch(Request[Fetched]):
    """With `max_wait_ms` the broker may hold the request until `min_bytes` are there; answers behind it wait too."""

    topic: str
    partition: int
    offset: int
    max_bytes: int
    max_wait_ms: int = 0
    min_bytes: int = 1

    api_key = 2

    @property
    def version(self) -> int:
        return 2 if self.max_wait_ms > 0 else 1

    def body(self) -> bytes:
        body = encode_topic(self.topic) + struct.pack(">iqi", self.partition, self.offset, self.max_bytes)
        if self.version == 2:
            body += struct.pack(">ii", self.max_wait_ms, self.min_bytes)
        return body

    def read(self, reader: Reader) -> Fetched:
        high_watermark, size = reader.numbers(">qi")
        if high_watermark < self.offset:
            raise BadAnswer(f"{self.describe()} succeeded in a log that ends at {high_watermark}")
        return Fetched(high_watermark, reader.take(size))

    def describe(self) -> str:
        return f"FETCH of {self.topic}-{self.partition} at {self.offset}"


@dataclass(frozen=True)
class Metadata(Request[tuple[TopicInfo, ...]]):
    topics: Sequence[str] = ()  # none: all that there are

    api_key = 3

    def body(self) -> bytes:
        return struct.pack(">i", len(self.topics)) + b"".join(map(encode_topic, self.topics))

    def read(self, reader: Reader) -> tuple[TopicInfo, ...]:
        topics = []
        for _ in range(*reader.numbers(">i")):
            name = reader.take(*reader.numbers(">H"))
            partitions = [PartitionInfo(*reader.numbers(">iqq")) for _ in range(*reader.numbers(">i"))]
            if not partitions or any(one.number != number for number, one in enumerate(partitions)):
                raise BadAnswer(f"the partitions of a topic are numbered {[one.number for one in partitions]}")
            topics.append(TopicInfo(name.decode(errors="replace"), tuple(partitions)))
        if self.topics and {one.name for one in topics} != set(self.topics):
            raise BadAnswer(f"the answer to {self.describe()} is about {[one.name for one in topics]}")
        return tuple(topics)

    def describe(self) -> str:
        return f"METADATA of {', '.join(self.topics) or 'all topics'}"


def encode_request(request: Request[A], correlation_id: int) -> bytes:
    """Raises ValueError for a request that may not or cannot be sent."""
    try:
        body = request.body()
    except struct.error as error:
        raise ValueError(f"{request.describe()}: a number does not fit its field: {error}") from error
    length = 8 + len(body)
    if length > FRAME_LENGTH_MAX:
        raise ValueError(f"{request.describe()} has {length} bytes, a frame at most {FRAME_LENGTH_MAX}")
    return struct.pack(">ihhi", length, request.api_key, request.version, correlation_id) + body


def decode_header(frame: bytes) -> tuple[int, ErrorCode]:
    """Correlation id and error code of an answer; its body lies behind RESPONSE_HEADER_BYTES."""
    correlation_id, code = struct.unpack_from(">ih", frame)
    if code not in ErrorCode._value2member_map_:
        raise BadAnswer(f"error code {code} is none of the protocol")
    if code and len(frame) > RESPONSE_HEADER_BYTES:
        raise BadAnswer(f"an answer with error {ErrorCode(code).name} has a body")
    return correlation_id, ErrorCode(code)
