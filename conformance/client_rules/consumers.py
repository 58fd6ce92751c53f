"""Section 3: FETCH."""

from __future__ import annotations

import struct
import zlib

import booblik_wire as wire
from client_rules.registry import PARTITIONS, SINGLE, TOPIC, ClientTarget, end_of, require, rule
from scripted_broker import Script

HEADER = wire.RECORD_HEADER_BYTES


@rule("fetch.records", "3", "every record is there, byte for byte, in its order, with the high watermark")
def records(target: ClientTarget) -> None:
    target.need("consumer")
    payloads = [bytes(range(256)), b"\x00", b"\xff\xfe", target.payload(), target.payload()]
    with target.reader() as reader:
        base = reader.produce(SINGLE, payloads).base_offset
        end = base + len(payloads)
        known = wire.split_records(reader.fetch(SINGLE, base, 65536).payload).payloads  # less where a segment ends
        answer = target.run("fetch", SINGLE, "0", str(base), "65536")
        answer.has(highWatermark=end)
        answer.require(answer.records() == known, f"expected {len(known)} records as they were produced")


@rule("fetch.request", "3", "partition, fetchOffset of 64 bits and maxBytes are sent as they were asked for", alone=False)
def request(target: ClientTarget) -> None:
    target.need("consumer")
    offset = 2**33 + 2**31 + 7
    with target.scripted(Script(end=offset + 1, records=wire.encode_record(b"hi"))) as scripted:
        answer = scripted.run("fetch", TOPIC, "2", str(offset), "1234567")
        answer.has(highWatermark=offset + 1)
        answer.require(answer.records() == [b"hi"], "expected the one record")
        sent = [(one.topic, one.partition, one.offset, one.max_bytes) for one in scripted.broker.of_kind(wire.FETCH)]
        require(sent == [(TOPIC, 2, offset, 1234567)], f"fetch of {TOPIC}-2 at {offset} with 1234567 bytes came as {sent}")


@rule("fetch.at-end", "3", "at the high watermark there are no records and no error")
def at_end(target: ClientTarget) -> None:
    target.need("consumer")
    with target.reader() as reader:
        end = end_of(reader, TOPIC, 1)
        answer = target.run("fetch", TOPIC, "1", str(end), "4096")
        answer.has(highWatermark=end)
        answer.require(not answer.values("record") and not answer.values("recordExceedsMaxBytes"), "there is no record")


@rule("fetch.cut-tail", "3", "a record that is cut by maxBytes is left out, wherever it is cut", alone=False)
def cut_tail(target: ClientTarget) -> None:
    target.need("consumer")
    payloads = [b"first", b"the second one", b"third"]
    stored = wire.encode_records(payloads)
    one, two = HEADER + 5, 2 * HEADER + 5 + 14
    cases = {one: 1, one + 1: 1, one + 7: 1, one + HEADER: 1, one + HEADER + 1: 1, two - 1: 1, two: 2, two + 4: 2, len(stored) - 1: 2}
    with target.scripted(Script(end=10, records=stored)) as scripted:
        for limit, whole in cases.items():
            answer = scripted.run("fetch", TOPIC, "0", "7", str(limit))
            answer.has(highWatermark=10)
            answer.require(answer.records() == payloads[:whole], f"expected the {whole} records that are whole within {limit} bytes")
            answer.require(not answer.values("recordExceedsMaxBytes"), "whole records are there")


@rule("fetch.exceeds", "3", "a record that does not fit maxBytes alone is reported with its size: asking again can never bring it", alone=False)
def exceeds(target: ClientTarget) -> None:
    target.need("consumer")
    stored = wire.encode_records([b"x" * 300, b"y"])
    with target.scripted(Script(end=2, records=stored)) as scripted:
        for limit, size in {1: "unknown", 3: "unknown", 4: "300", 7: "300", 8: "300", 9: "300", 307: "300"}.items():
            answer = scripted.run("fetch", TOPIC, "0", "0", str(limit))
            answer.has(highWatermark=2)
            answer.require(answer.values("recordExceedsMaxBytes") == [size], f"expected recordExceedsMaxBytes={size} within {limit} bytes")
            answer.require(not answer.values("record"), "no record is whole")


@rule("fetch.out-of-range", "3", "an offset beyond the log is error=OFFSET_OUT_OF_RANGE")
def out_of_range(target: ClientTarget) -> None:
    target.need("consumer")
    with target.reader() as reader:
        end = end_of(reader, TOPIC, 0)
    target.run("fetch", TOPIC, "0", str(end + 1), "4096").refused("OFFSET_OUT_OF_RANGE")


@rule("fetch.unknown", "3", "an unknown topic or partition is error=UNKNOWN_TOPIC_OR_PARTITION")
def unknown(target: ClientTarget) -> None:
    target.need("consumer")
    target.run("fetch", "no.such.topic", "0", "0", "4096").refused("UNKNOWN_TOPIC_OR_PARTITION")
    target.run("fetch", TOPIC, str(PARTITIONS), "0", "4096").refused("UNKNOWN_TOPIC_OR_PARTITION")


def corrupt(target: ClientTarget, ahead: list[bytes], stored: bytes) -> None:
    with target.scripted(Script(end=9, records=wire.encode_records(ahead) + stored)) as scripted:
        answer = scripted.run("fetch", TOPIC, "0", "0", "4096")
        answer.require(answer.exit_code == 0, "a corrupt record ends with exit 0")
        answer.require(answer.values("error") == ["CORRUPT_RECORD"], "expected error=CORRUPT_RECORD")
        printed = answer.records()
        answer.require(printed == ahead[: len(printed)], "the corrupt record and those behind it may not be printed")


@rule("fetch.checksum", "3", "a record whose checksum is wrong is error=CORRUPT_RECORD", alone=False)
def checksum(target: ClientTarget) -> None:
    target.need("consumer")
    good = wire.encode_record(b"good")
    for payload, wrong in ((b"bad", wire.crc32c(b"bad") ^ 1), (b"\x80\xff", wire.crc32c(b"\x80\xff") ^ 0x80000000)):
        corrupt(target, [b"ahead"], struct.pack(">iI", len(payload), wrong) + payload + good)


@rule("fetch.which-crc", "6", "the checksum is CRC-32C, not the CRC-32 of zip files", alone=False)
def which_crc(target: ClientTarget) -> None:
    target.need("consumer")
    corrupt(target, [], struct.pack(">iI", 9, zlib.crc32(b"123456789")) + b"123456789")


@rule("fetch.impossible-size", "3", "a record whose size is 0 or negative is error=CORRUPT_RECORD", alone=False)
def impossible_size(target: ClientTarget) -> None:
    target.need("consumer")
    for size in (0, -1, wire.INT32_MIN):
        corrupt(target, [b"ahead"], struct.pack(">iI", size, 0) + wire.encode_record(b"good"))
