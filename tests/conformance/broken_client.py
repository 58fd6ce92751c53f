#!/usr/bin/env python3
"""A client behind the command line of the conformance kit that can break any rule of it by name: something to test the rules with.

    broken_client.py --broken=fetch.cut-tail fetch conformance 0 0 100

It keeps every rule but those named. Where a rule has several plausible breaches, the others are called RULE:BREACH.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

import booblik_wire as wire  # noqa: E402
from booblik_wire import Code  # noqa: E402

BROKEN: set[str] = set()

BREACHES = """usage.capabilities usage.capabilities:contact usage.wrong usage.unreachable request.frame request.topic-utf8
metadata.partitions metadata.offsets-64 metadata.unknown
produce.stored-bytes produce.order produce.offsets produce.one-request produce.partition produce.ack-on-wire produce.none-silent
produce.none-arrives produce.none-refused produce.unknown produce.too-large produce.empty-record produce.offsets-64 produce.not-twice
keyed.partitioner keyed.partitioner:remainder keyed.partitioner:order keyed.partitioner:characters keyed.partitioner:empty
keyed.key-stays keyed.unknown
fetch.records fetch.request fetch.request:max-bytes fetch.at-end fetch.cut-tail fetch.cut-tail:header fetch.exceeds
fetch.exceeds:unknown fetch.out-of-range fetch.unknown fetch.checksum fetch.checksum:prints fetch.which-crc fetch.impossible-size
answer.split answer.correlation-id answer.error-codes answer.unknown-code answer.frame-length answer.cut answer.body-longer
answer.body-shorter answer.payload-bytes answer.none""".split()


class NotCarriedOut(Exception):
    pass


class Refused(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)


class Usage(Exception):
    pass


def broken(breach: str) -> bool:
    assert breach in BREACHES, breach
    return breach in BROKEN


def say(key: str, value: object) -> None:
    print(f"{key}={value}")


# --- the wire ---


class Client:
    def __init__(self) -> None:
        self.timeout = int(os.environ.get("BOOBLIK_TIMEOUT_MS", "10000")) / 1000
        self.next_id = 77
        self.peer = self.connect()

    def connect(self) -> socket.socket:
        host, _, port = os.environ["BOOBLIK_BROKER"].rpartition(":")
        try:
            peer = socket.create_connection((host, int(port)), self.timeout)
        except OSError as error:
            raise NotCarriedOut(f"no connection: {error}") from error
        if broken("answer.none"):
            peer.settimeout(None)
        return peer

    def send(self, api_key: int, version: int, body: bytes) -> None:
        self.next_id += 1
        self.peer.sendall(wire.request(api_key, version, self.next_id, body + (b"\0" if broken("request.frame") else b"")))

    def take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                piece = self.peer.recv(count - len(data))
            except OSError as error:
                raise NotCarriedOut(f"no answer: {error}") from error
            if not piece:
                if broken("answer.cut"):
                    return data.ljust(count, b"\0")
                raise NotCarriedOut("the connection ended inside an answer")
            data += piece
            if broken("answer.split"):
                return data.ljust(count, b"\0")
        return data

    def frame(self) -> bytes:
        (length,) = struct.unpack(">i", self.take(4))
        if not 6 <= length <= wire.FRAME_LENGTH_MAX and not broken("answer.cut"):
            if broken("answer.frame-length"):
                length = 22
            else:
                raise NotCarriedOut(f"frame length {length}")
        return self.take(max(length, 22) if broken("answer.cut") else length)

    def answer(self) -> bytes:
        """The body of a success."""
        frame = self.frame()
        correlation_id, number = struct.unpack_from(">ih", frame)
        if correlation_id != self.next_id and not broken("answer.correlation-id") and not broken("answer.cut"):
            raise NotCarriedOut(f"an answer to {correlation_id}, not to {self.next_id}")
        if number not in Code._value2member_map_:
            if broken("answer.unknown-code"):
                raise Refused("UNSUPPORTED_VERSION")
            raise NotCarriedOut(f"error code {number}")
        if number:
            names = [code.name for code in Code]
            if broken("answer.error-codes"):
                names[4], names[5] = names[5], names[4]
            if broken("produce.too-large"):
                names[Code.RECORD_TOO_LARGE] = "OFFSET_OUT_OF_RANGE"
            raise Refused(names[number])
        return frame[6:]

    def call(self, api_key: int, version: int, body: bytes) -> bytes:
        self.send(api_key, version, body)
        return self.answer()


def encoded(topic: str) -> str | bytes:
    """A name that goes into bodies, which count its length themselves."""
    if not broken("request.topic-utf8"):
        return topic
    return topic.encode()[: len(topic)]


def narrow(offset: int, rule: str) -> int:
    return offset & 0xFFFFFFFF if broken(rule) else offset


# --- verbs ---


def partitions_of(client: Client, topic: str) -> tuple[wire.Partition, ...]:
    return wire.decode_metadata(client.call(wire.METADATA, 1, wire.metadata_body([encoded(topic)])))[0].partitions


def metadata(client: Client, topic: str) -> None:
    partitions = partitions_of(client, topic)
    say("name", topic)
    for one in partitions[:-1] if broken("metadata.partitions") else partitions:
        say("partition", one.number)
        say("logStartOffset", one.log_start_offset)
        say("highWatermark", narrow(one.high_watermark, "metadata.offsets-64"))


def send_batch(client: Client, topic: str, partition: int, ack: int, payloads: list[bytes]) -> wire.Produced | None:
    """None when nothing is answered."""
    body = wire.produce_body(encoded(topic), partition, ack, payloads)
    if ack == wire.ACK_NONE and not broken("produce.none-silent"):
        if not broken("produce.none-arrives"):
            client.send(wire.PRODUCE, 1, body)
        client.call(wire.METADATA, 1, wire.metadata_body())
        return None
    try:
        answer = client.call(wire.PRODUCE, 1, body)
    except NotCarriedOut:
        if not broken("produce.not-twice"):
            raise
        client.peer = client.connect()
        answer = client.call(wire.PRODUCE, 1, body)
    if broken("answer.body-longer"):
        answer = answer[:16]
    if broken("answer.body-shorter"):
        answer = answer.ljust(16, b"\0")
    return wire.decode_produced(answer)


def produce(client: Client, topic: str, partition: str, ack: str, records: str) -> None:
    payloads = [unhex(record) for record in records.split(",")]
    if broken("produce.empty-record"):
        payloads = list(filter(None, payloads)) or [b"?"]
    if not all(payloads):
        raise Refused("CORRUPT_REQUEST")
    if broken("produce.stored-bytes"):
        payloads = [payload.decode(errors="replace").encode() for payload in payloads]
    if broken("produce.order"):
        payloads.reverse()
    if broken("produce.none-refused"):
        if int(partition) >= len(partitions_of(client, topic)):
            raise Refused("UNKNOWN_TOPIC_OR_PARTITION")
    number = 0 if broken("produce.partition") else int(partition)
    policy = min(int(ack), 1) if broken("produce.ack-on-wire") else int(ack)
    produced = None
    for batch in [[one] for one in payloads] if broken("produce.one-request") else [payloads]:
        latest = send_batch(client, topic, number, policy, batch)
        produced = produced or latest
    if produced is not None:
        say("baseOffset", narrow(produced.base_offset, "produce.offsets-64") + broken("produce.offsets"))
        say("logEndOffset", narrow(produced.base_offset, "produce.offsets-64") + len(payloads))


def partition_for(key: bytes, count: int) -> int:
    data: list[int] = list(key)
    if broken("keyed.partitioner"):
        data = [byte - 256 if byte > 127 else byte for byte in key]
    if broken("keyed.partitioner:characters"):
        data = [ord(character) for character in key.decode(errors="replace")]
    if broken("keyed.partitioner:empty") and not key:
        return 0
    value = 0x811C9DC5
    for byte in data:
        if broken("keyed.partitioner:order"):
            value = (value * 0x01000193 & 0xFFFFFFFF) ^ byte
        else:
            value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    if broken("keyed.partitioner:remainder") and value >> 31:
        return (2**32 - value) % count
    return value % count


def produce_keyed(client: Client, topic: str, key: str, record: str) -> None:
    partition = partition_for(unhex(key), len(partitions_of(client, topic)))
    payload = (unhex(key) if broken("keyed.key-stays") else b"") + unhex(record)
    produced = send_batch(client, topic, partition, wire.ACK_WRITTEN, [payload])
    assert produced is not None
    say("partition", partition)
    say("baseOffset", produced.base_offset)
    say("logEndOffset", produced.log_end_offset)


def checksum_is_wrong(payload: bytes, stored: int) -> bool:
    if broken("fetch.checksum"):
        return False
    return (zlib.crc32(payload) if broken("fetch.which-crc") else wire.crc32c(payload)) != stored


def whole_records(data: bytes) -> tuple[list[bytes], bytes]:
    """Records and the cut tail."""
    records: list[bytes] = []
    at = 0
    while at < len(data):
        if broken("fetch.cut-tail:header") and len(data) - at < 8:
            raise Refused("CORRUPT_RECORD")
        size, stored = struct.unpack(">iI", data[at : at + 8].ljust(8, b"\x7f"))
        payload = data[at + 8 : at + 8 + size]
        if size <= 0 and not broken("fetch.impossible-size"):
            raise Refused("CORRUPT_RECORD")
        if size <= 0 or len(data) - at - 8 < size:
            if broken("fetch.cut-tail") and payload:
                records.append(payload)
            return records, data[at:]
        if checksum_is_wrong(payload, stored):
            if broken("fetch.checksum:prints"):
                say("record", payload.hex())
            raise Refused("CORRUPT_RECORD")
        records.append(payload)
        at += 8 + size
    return records, b""


def fetch(client: Client, topic: str, partition: str, offset: str, max_bytes: str) -> None:
    limit = min(int(max_bytes), 65536) if broken("fetch.request:max-bytes") else int(max_bytes)
    at = narrow(int(offset), "fetch.request")
    answer = client.call(wire.FETCH, 1, wire.fetch_body(topic, int(partition), at, limit))
    if broken("answer.payload-bytes"):
        answer = answer[:8] + struct.pack(">i", len(answer) - 12) + answer[12:]
    fetched = wire.decode_fetched(answer)
    if broken("fetch.at-end") and not fetched.payload:
        raise Refused("OFFSET_OUT_OF_RANGE")
    records, tail = whole_records(fetched.payload)
    say("highWatermark", fetched.high_watermark)
    if tail and not records and not broken("fetch.exceeds"):
        known = len(tail) >= 4 and not broken("fetch.exceeds:unknown")
        say("recordExceedsMaxBytes", struct.unpack_from(">i", tail)[0] if known else "unknown")
    for record in records[1:] if broken("fetch.records") else records:
        say("record", record.hex())


# --- the command line ---


def unhex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise Usage(str(error)) from error


VERBS = {"metadata": (metadata, 1), "produce": (produce, 4), "produce-keyed": (produce_keyed, 3), "fetch": (fetch, 4)}
# Rules that are broken by taking a refusal for a failure of the verb.
REFUSAL_ENDS_WITH_1 = {"metadata.unknown", "produce.unknown", "keyed.unknown", "fetch.unknown", "fetch.out-of-range"}


def run(verb: str, arguments: list[str]) -> None:
    if verb == "capabilities":
        if broken("usage.capabilities:contact"):
            Client()
        say("roles", "producent" if broken("usage.capabilities") else os.environ.get("ROLES", "admin,producer,keyed-producer,consumer"))
        return
    carry_out, count = VERBS.get(verb, (metadata, -1))
    if len(arguments) != count:
        raise Usage("verb or arguments")
    if verb == "produce":
        for record in arguments[3].split(","):
            unhex(record)
    carry_out(Client(), *arguments)  # type: ignore[operator] # as many as the verb takes


def main(arguments: list[str]) -> int:
    while arguments and arguments[0].startswith("--broken="):
        BROKEN.update(arguments.pop(0).removeprefix("--broken=").split(","))
    try:
        run(arguments[0], arguments[1:])
    except Refused as refused:
        if REFUSAL_ENDS_WITH_1 & BROKEN:
            return 1
        say("error", refused)
    except (NotCarriedOut, wire.WireError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 0 if broken("usage.unreachable") else 1
    except Usage as usage:
        print(usage, file=sys.stderr)
        return 1 if broken("usage.wrong") else 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
