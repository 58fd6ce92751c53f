"""The booblik wire format: requests, responses, records, CRC-32C and the key partitioner.

Written from the protocol page alone, so that it can judge an implementation instead of agreeing with it. Everything is
big-endian. Encoders take any value, valid or not: breaking a rule on purpose is half of their work. Decoders are strict and
raise WireError on the first byte that the protocol does not allow.
"""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass
from typing import Iterable, Sequence

FRAME_LENGTH_MAX = 8_388_608  # of requests and of responses, without the length field
REQUEST_HEADER_BYTES = 8
FETCH_PAYLOAD_MAX = 8_388_590  # what a response frame has left behind its other fields
RECORD_PAYLOAD_MAX = 8_388_582  # the largest record that one FETCH can carry
RECORD_HEADER_BYTES = 8
TOPIC_NAME_MAX = 249

PRODUCE, FETCH, METADATA = 1, 2, 3
ACK_NONE, ACK_WRITTEN, ACK_FORCED = 0, 1, 2

INT32_MAX = 2**31 - 1
INT32_MIN = -(2**31)
INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)


class Code(enum.IntEnum):
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 1
    OFFSET_OUT_OF_RANGE = 2
    RECORD_TOO_LARGE = 3
    UNSUPPORTED_VERSION = 4
    CORRUPT_REQUEST = 5


class WireError(Exception):
    """Bytes that the protocol does not allow."""


# --- requests -------------------------------------------------------------------------------------------------------


def frame(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def request(api_key: int, api_version: int, correlation_id: int, body: bytes) -> bytes:
    return frame(struct.pack(">hhi", api_key, api_version, correlation_id) + body)


def encode_name(name: str | bytes) -> bytes:
    raw = name.encode() if isinstance(name, str) else name
    return struct.pack(">H", len(raw)) + raw


def produce_body(
    topic: str | bytes,
    partition: int,
    ack: int,
    payloads: Sequence[bytes],
    *,
    count: int | None = None,
) -> bytes:
    """`count` announces another number of records than there are."""
    parts = [
        encode_name(topic),
        struct.pack(">ibi", partition, ack, len(payloads) if count is None else count),
    ]
    for payload in payloads:
        parts.append(struct.pack(">i", len(payload)))
        parts.append(payload)
    return b"".join(parts)


def fetch_body(
    topic: str | bytes,
    partition: int,
    offset: int,
    max_bytes: int,
    max_wait_ms: int | None = None,
    min_bytes: int = 0,
) -> bytes:
    """Version 1 without `max_wait_ms`, version 2 with it."""
    body = encode_name(topic) + struct.pack(">iqi", partition, offset, max_bytes)
    if max_wait_ms is not None:
        body += struct.pack(">ii", max_wait_ms, min_bytes)
    return body


def metadata_body(topics: Sequence[str | bytes] = (), *, count: int | None = None) -> bytes:
    announced = len(topics) if count is None else count
    return struct.pack(">i", announced) + b"".join(encode_name(topic) for topic in topics)


# --- responses ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Response:
    correlation_id: int
    code: Code
    body: bytes


@dataclass(frozen=True)
class Produced:
    base_offset: int
    log_end_offset: int


@dataclass(frozen=True)
class Fetched:
    high_watermark: int
    payload: bytes


@dataclass(frozen=True)
class Partition:
    number: int
    log_start_offset: int
    high_watermark: int


@dataclass(frozen=True)
class Topic:
    name: str
    partitions: tuple[Partition, ...]


class Cursor:
    """Reads fields in order and never past the end."""

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        self._at = 0
        self._what = what

    def take(self, count: int, field: str) -> bytes:
        if count < 0 or self._at + count > len(self._data):
            left = len(self._data) - self._at
            raise WireError(f"{self._what}: {field} needs {count} bytes, {left} are left")
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, layout: str, field: str) -> int:
        value: int = struct.unpack(layout, self.take(struct.calcsize(layout), field))[0]
        return value

    def finish(self) -> None:
        left = len(self._data) - self._at
        if left:
            raise WireError(f"{self._what}: {left} bytes behind the last field")


def decode_response(payload: bytes) -> Response:
    """`payload` is a frame without its length field."""
    cursor = Cursor(payload, "response")
    correlation_id = cursor.number(">i", "correlationId")
    number = cursor.number(">h", "errorCode")
    if number not in Code._value2member_map_:
        raise WireError(f"response {correlation_id}: error code {number} is not one of 0..5")
    code = Code(number)
    body = payload[6:]
    if code is not Code.NONE and body:
        raise WireError(f"response {correlation_id}: {code.name} with a body of {len(body)} bytes")
    return Response(correlation_id, code, body)


def decode_produced(body: bytes) -> Produced:
    cursor = Cursor(body, "PRODUCE response")
    produced = Produced(cursor.number(">q", "baseOffset"), cursor.number(">q", "logEndOffset"))
    cursor.finish()
    return produced


def decode_fetched(body: bytes) -> Fetched:
    cursor = Cursor(body, "FETCH response")
    high_watermark = cursor.number(">q", "highWatermark")
    payload = cursor.take(cursor.number(">i", "payloadBytes"), "payload")
    cursor.finish()
    return Fetched(high_watermark, payload)


def decode_metadata(body: bytes) -> list[Topic]:
    cursor = Cursor(body, "METADATA response")
    topics = []
    for _ in range(cursor.number(">i", "topicCount")):
        name = cursor.take(cursor.number(">H", "topicNameLength"), "topicName").decode()
        partitions = tuple(
            Partition(
                cursor.number(">i", "partitionId"),
                cursor.number(">q", "logStartOffset"),
                cursor.number(">q", "highWatermark"),
            )
            for _ in range(cursor.number(">i", "partitionCount"))
        )
        topics.append(Topic(name, partitions))
    cursor.finish()
    return topics


# --- records --------------------------------------------------------------------------------------------------------


def encode_record(payload: bytes) -> bytes:
    """As it lies on the disk and in a FETCH payload."""
    return struct.pack(">iI", len(payload), crc32c(payload)) + payload


def encode_records(payloads: Iterable[bytes]) -> bytes:
    return b"".join(map(encode_record, payloads))


@dataclass(frozen=True)
class Split:
    payloads: list[bytes]
    tail: bytes  # of a record that does not end here


def split_records(data: bytes, *, verify: bool = True) -> Split:
    """The whole records of a FETCH payload, checksums verified, and the cut tail."""
    payloads: list[bytes] = []
    at = 0
    while at + RECORD_HEADER_BYTES <= len(data):
        size, checksum = struct.unpack_from(">iI", data, at)
        if size <= 0:
            raise WireError(f"record {len(payloads)} of a payload has size {size}")
        end = at + RECORD_HEADER_BYTES + size
        if end > len(data):
            break
        payload = data[at + RECORD_HEADER_BYTES : end]
        if verify and crc32c(payload) != checksum:
            raise WireError(f"record {len(payloads)} of a payload has a wrong checksum")
        payloads.append(payload)
        at = end
    return Split(payloads, data[at:])


# --- the two algorithms that all clients share ----------------------------------------------------------------------


def _crc32c_table() -> tuple[int, ...]:
    table = []
    for index in range(256):
        value = index
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return tuple(table)


_CRC32C = _crc32c_table()


def crc32c(data: bytes) -> int:
    table = _CRC32C
    value = 0xFFFFFFFF
    for byte in data:
        value = table[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def fnv1a(key: bytes) -> int:
    value = 0x811C9DC5
    for byte in key:
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def partition_for_key(key: bytes, partition_count: int) -> int:
    return fnv1a(key) % partition_count
