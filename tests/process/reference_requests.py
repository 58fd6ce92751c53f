"""Decodes requests for the reference broker. Each check carries the name of its rule and is left out when that rule is to
be broken."""

from __future__ import annotations

import struct
import unicodedata
from dataclasses import dataclass
from typing import Callable

import booblik_wire as wire
from booblik_wire import Code


class Refused(Exception):
    """`silent` when the request had asked for no answer before it turned out to be wrong."""

    def __init__(self, code: Code, silent: bool = False) -> None:
        super().__init__(code.name)
        self.code = code
        self.silent = silent


@dataclass
class Produce:
    topic: str
    partition: int
    ack: int
    payloads: list[bytes]


@dataclass
class Fetch:
    topic: str
    partition: int
    offset: int
    max_bytes: int
    max_wait_ms: int = 0
    min_bytes: int = 0


@dataclass
class Metadata:
    topics: list[str]


Request = Produce | Fetch | Metadata


class Decoder:
    def __init__(self, body: bytes, broken: frozenset[str], exists: Callable[[str, int], bool]) -> None:
        self.body = body
        self.at = 0
        self.broken = broken
        self.exists = exists

    def check(self, rule: str, condition: bool) -> None:
        if not condition and rule not in self.broken:
            raise Refused(Code.CORRUPT_REQUEST)

    def take(self, count: int) -> bytes:
        taken = self.body[self.at : self.at + count]
        self.check("body.truncated", len(taken) == count)
        self.at += len(taken)
        return taken.ljust(count, b"\0") if len(taken) < count <= 1 << 16 else taken

    def number(self, layout: str) -> int:
        value: int = struct.unpack(layout, self.take(struct.calcsize(layout)))[0]
        return value

    def left(self) -> int:
        return len(self.body) - self.at

    def finish(self) -> None:
        self.check("body.trailing", self.left() == 0)

    def name(self) -> str:
        raw = self.take(self.number(">H"))
        self.check("name.empty", len(raw) > 0)
        self.check("name.too-long", len(raw) <= wire.TOPIC_NAME_MAX)
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            self.check("name.bad-utf8", False)
            return "no.such.topic"
        for character in text:
            sound = character in "._-" or unicodedata.category(character) in ("Lu", "Ll", "Lt", "Lm", "Lo", "Nd")
            self.check("name.bad-character", sound)
            self.check_allowed(character)
        return text

    def check_allowed(self, character: str) -> None:
        if "name.allowed" in self.broken and not character.isascii():
            raise Refused(Code.CORRUPT_REQUEST)

    def place(self, kind: str) -> tuple[str, int]:
        topic, partition = self.name(), self.number(">i")
        self.check(f"{kind}.partition-negative", partition >= 0)
        if "order.body-before-topic" in self.broken and not self.exists(topic, partition):
            raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION)
        return topic, partition

    def produce(self) -> Produce:
        if "none.corrupt-before" in self.broken and self.body[-5:] == b"\0\0\0\1x":
            raise Refused(Code.CORRUPT_REQUEST, silent=True)
        topic, partition = self.place("produce")
        ack = self.number(">b")
        self.check("produce.ack-policy", 0 <= ack <= 2)
        try:
            payloads = self.records()
            self.finish()
        except Refused as refused:
            refused.silent = ack == wire.ACK_NONE and "none.corrupt-after" not in self.broken
            raise
        return Produce(topic, partition, ack, payloads)

    def records(self) -> list[bytes]:
        count = self.number(">i")
        self.check("produce.record-count", count > 0)
        payloads: list[bytes] = []
        while len(payloads) < count and (self.left() > 0 or "body.truncated" not in self.broken):
            size = self.number(">i")
            if size < 0:
                self.check("produce.payload-size", False)
                size = self.left()
            self.check("produce.empty-record", size > 0)
            payloads.append(self.take(size))
        return payloads

    def fetch(self, version: int) -> Fetch:
        topic, partition = self.place("fetch")
        offset = self.number(">q")
        if offset < 0 and "fetch.offset-negative" in self.broken:
            raise Refused(Code.OFFSET_OUT_OF_RANGE)
        self.check("fetch.offset-negative", offset >= 0)
        request = Fetch(topic, partition, offset, self.number(">i"))
        self.check("fetch.max-bytes", request.max_bytes > 0)
        if "fetch.max-bytes-huge" in self.broken and request.max_bytes > 1 << 30:
            raise Refused(Code.CORRUPT_REQUEST)
        if version == 2 or ("fetch.versions" in self.broken and self.left() == 8):
            request.max_wait_ms = self.number(">i")
            self.check("fetch.max-wait-negative", request.max_wait_ms >= 0)
            request.min_bytes = self.number(">i")
            self.check("fetch.min-bytes", 0 <= request.min_bytes <= request.max_bytes)
        self.finish()
        return request

    def metadata(self) -> Metadata:
        count = self.number(">i")
        self.check("metadata.count", count >= 0)
        topics = []
        for _ in range(count):
            topics.append(self.name())
        self.finish()
        return Metadata(topics)


SPOKEN = {(wire.PRODUCE, 1), (wire.FETCH, 1), (wire.FETCH, 2), (wire.METADATA, 1)}


def decode(frame: bytes, broken: frozenset[str], exists: Callable[[str, int], bool]) -> Request:
    """`frame` has at least its header."""
    api_key, version = struct.unpack_from(">hh", frame)
    body = frame[wire.REQUEST_HEADER_BYTES :]
    if api_key not in (wire.PRODUCE, wire.FETCH, wire.METADATA):
        raise Refused(Code.CORRUPT_REQUEST if "version.unknown-api" in broken else Code.UNSUPPORTED_VERSION)
    if (api_key, version) not in SPOKEN and "version.unknown-version" not in broken:
        corrupt_first = "order.version-before-body" in broken and len(body) < 6
        raise Refused(Code.CORRUPT_REQUEST if corrupt_first else Code.UNSUPPORTED_VERSION)
    decoder = Decoder(body, broken, exists)
    if api_key == wire.PRODUCE:
        return decoder.produce()
    if api_key == wire.FETCH:
        return decoder.fetch(version)
    return decoder.metadata()
