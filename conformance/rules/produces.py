"""Section 2: PRODUCE."""

from __future__ import annotations

import struct
from typing import Sequence

import booblik_wire as wire
from booblik_wire import ACK_FORCED, ACK_NONE, ACK_WRITTEN, Code
from rules.registry import Target, refused, require, rule

# recordCount and what follows it, each broken behind the ackPolicy byte.
BROKEN_TAILS = {
    "no record count": b"",
    "a record count of 3 bytes": bytes(3),
    "recordCount 0": struct.pack(">i", 0),
    "recordCount -1": struct.pack(">ii", -1, 1) + b"x",
    "recordCount above the records": struct.pack(">ii", 2, 1) + b"x",
    "recordCount 2147483647": struct.pack(">ii", wire.INT32_MAX, 1) + b"x",
    "recordCount below the records": struct.pack(">iii", 1, 1, 0x78000000) + b"\x01y",
    "an empty record": struct.pack(">ii", 1, 0),
    "an empty record behind a good one": struct.pack(">ii", 2, 1) + b"x" + struct.pack(">i", 0),
    "payloadSize -1": struct.pack(">ii", 1, -1) + b"x",
    "payloadSize -2147483648": struct.pack(">ii", 1, wire.INT32_MIN) + b"x",
    "payloadSize above what is left": struct.pack(">ii", 1, 3) + b"xy",
    "payloadSize 2147483647": struct.pack(">ii", 1, wire.INT32_MAX) + b"xy",
}


def head(topic: str, partition: int, ack: int) -> bytes:
    return wire.encode_name(topic) + struct.pack(">ib", partition, ack)


def appends_nothing(target: Target, bodies: dict[str, bytes], code: Code | None) -> None:
    """Each PRODUCE body is answered with `code` (None: never), and none of them appends."""
    with target.connect() as connection:
        end = connection.partition(target.topic).high_watermark
        for what, body in bodies.items():
            sent = connection.send_request(wire.PRODUCE, 1, body)
            if code is None:
                connection.expect_open(f"silent PRODUCE, {what}")
            else:
                connection.expect(sent, code, f"PRODUCE, {what}")
        connection.expect_open("PRODUCE")
        require(connection.partition(target.topic).high_watermark == end, "a refused PRODUCE appended records")


@rule("produce.partition-negative", "2", "a negative partitionId is CORRUPT_REQUEST")
def partition_negative(target: Target) -> None:
    bodies = {f"partition {number}": wire.produce_body(target.topic, number, ACK_WRITTEN, [b"x"]) for number in (-1, wire.INT32_MIN)}
    appends_nothing(target, bodies, Code.CORRUPT_REQUEST)


@rule("produce.ack-policy", "2", "an ackPolicy outside 0..2 is CORRUPT_REQUEST")
def ack_policy(target: Target) -> None:
    bodies = {f"ackPolicy {ack}": wire.produce_body(target.topic, 0, ack, [b"x"]) for ack in (3, 127, -1, -128)}
    appends_nothing(target, bodies, Code.CORRUPT_REQUEST)


def broken(target: Target, ack: int, words: Sequence[str]) -> dict[str, bytes]:
    start = head(target.topic, 0, ack)
    return {what: start + tail for what, tail in BROKEN_TAILS.items() if any(word in what for word in words)}


@rule("produce.record-count", "2", "recordCount must be positive and the number of records that follow")
def record_count(target: Target) -> None:
    appends_nothing(target, broken(target, ACK_WRITTEN, ["recordCount", "record count"]), Code.CORRUPT_REQUEST)
    appends_nothing(target, broken(target, ACK_FORCED, ["recordCount", "record count"]), Code.CORRUPT_REQUEST)


@rule("produce.empty-record", "2", "an empty record is CORRUPT_REQUEST, and nothing of its batch is appended")
def empty_record(target: Target) -> None:
    appends_nothing(target, broken(target, ACK_WRITTEN, ["an empty record"]), Code.CORRUPT_REQUEST)


@rule("produce.payload-size", "2", "payloadSize must be positive and not above the bytes that are left")
def payload_size(target: Target) -> None:
    appends_nothing(target, broken(target, ACK_WRITTEN, ["payloadSize"]), Code.CORRUPT_REQUEST)


@rule("produce.unknown", "2", "an unknown topic or partition is UNKNOWN_TOPIC_OR_PARTITION")
def unknown(target: Target) -> None:
    with target.connect() as connection:
        partitions = len(target.topic_with_partitions(connection).partitions)
    for topic, partition in (("no.such.topic", 0), (target.topic, partitions), (target.topic, wire.INT32_MAX)):
        body = wire.produce_body(topic, partition, ACK_WRITTEN, [b"x"])
        refused(target, wire.PRODUCE, 1, body, Code.UNKNOWN_TOPIC_OR_PARTITION, f"PRODUCE to {topic}-{partition}")


@rule("produce.offsets", "2", "records get consecutive offsets from baseOffset, batch after batch")
def offsets(target: Target) -> None:
    with target.connect() as connection:
        end = connection.partition(target.topic).high_watermark
        for ack in (ACK_WRITTEN, ACK_FORCED):
            for count in (1, 3, 100):
                produced = connection.produce(target.topic, target.payloads(count), ack=ack)
                wanted = wire.Produced(end, end + count)
                require(produced == wanted, f"PRODUCE of {count} records, ackPolicy {ack}: {produced}, not {wanted}")
                end += count


@rule("produce.stored-bytes", "2", "FETCH gives back exactly the bytes that were produced, with the right checksum")
def stored_bytes(target: Target) -> None:
    payloads = [bytes([value]) for value in range(256)] + [bytes(range(256)) * 5, bytes(1000), b"\xff" * 129]
    with target.connect() as connection:
        base = connection.produce(target.topic, payloads).base_offset
        stored = connection.read_all(target.topic, offset=base)
        require(stored == payloads, "the records that came back are not those that were produced")
        first = connection.fetch(target.topic, base, 9).payload
        require(first == wire.encode_record(payloads[0]), f"the first record is {first.hex()}")


@rule("produce.partitions", "2", "partitions of one topic are logs of their own")
def partitions(target: Target) -> None:
    with target.connect() as connection:
        before = target.topic_with_partitions(connection).partitions
        for partition in before:
            payload = target.payloads(1)
            base = connection.produce(target.topic, payload, partition.number).base_offset
            require(base == partition.high_watermark, f"partition {partition.number}: base {base}, end {partition.high_watermark}")
            stored = connection.read_all(target.topic, partition.number, base)
            require(stored == payload, f"partition {partition.number} gives back {stored}")


# --- ackPolicy 0 ---


@rule("none.silent", "2", "an accepted PRODUCE with ackPolicy 0 is never answered, and is appended")
def none_silent(target: Target) -> None:
    with target.connect() as connection:
        end = connection.partition(target.topic).high_watermark
        payloads = target.payloads(5)
        for payload in payloads:
            connection.send_produce(target.topic, [payload], ack=ACK_NONE)
        connection.expect_open("PRODUCE with ackPolicy 0")
        require(connection.read_all(target.topic, offset=end) == payloads, "the silent records are not in the log")


@rule("none.unknown", "2", "with ackPolicy 0 an unknown topic or partition is not answered")
def none_unknown(target: Target) -> None:
    bodies = {
        "unknown topic": wire.produce_body("no.such.topic", 0, ACK_NONE, [b"x"]),
        "unknown partition": wire.produce_body(target.topic, 30000, ACK_NONE, [b"x"]),
    }
    appends_nothing(target, bodies, None)


@rule("none.corrupt-after", "2", "with ackPolicy 0 a body that is corrupt behind the ackPolicy byte is not answered")
def none_corrupt_after(target: Target) -> None:
    bodies = broken(target, ACK_NONE, [""])
    bodies["bytes behind it"] = wire.produce_body(target.topic, 0, ACK_NONE, [b"x"]) + b"x"
    bodies["unknown topic and an empty record"] = wire.produce_body("no.such.topic", 0, ACK_NONE, [b""])
    appends_nothing(target, bodies, None)


@rule("none.corrupt-before", "2", "a body that is corrupt before the ackPolicy byte is answered, whatever that byte is")
def none_corrupt_before(target: Target) -> None:
    bodies = {
        "empty topic name": wire.produce_body("", 0, ACK_NONE, [b"x"]),
        "topic name with a space": wire.produce_body("a b", 0, ACK_NONE, [b"x"]),
        "topic name longer than the frame": struct.pack(">H", 200) + bytes(20),
        "partition -1": wire.produce_body(target.topic, -1, ACK_NONE, [b"x"]),
        "no ackPolicy byte": head(target.topic, 0, ACK_NONE)[:-1],
    }
    appends_nothing(target, bodies, Code.CORRUPT_REQUEST)
