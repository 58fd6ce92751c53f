"""Section 3: FETCH without waiting."""

from __future__ import annotations

import time

import booblik_wire as wire
from booblik_socket import elapsed_ms
from booblik_wire import Code
from rules.registry import Target, refused, require, rule


def corrupt(target: Target, cases: dict[str, bytes], versions: tuple[int, ...] = (1, 2)) -> None:
    """Bodies of version 1; version 2 gets its two fields behind them."""
    for what, body in cases.items():
        for version in versions:
            whole = body + (bytes(8) if version == 2 else b"")
            refused(target, wire.FETCH, version, whole, Code.CORRUPT_REQUEST, f"FETCH v{version} with {what}")


@rule("fetch.partition-negative", "3", "a negative partitionId is CORRUPT_REQUEST")
def partition_negative(target: Target) -> None:
    corrupt(target, {f"partition {number}": wire.fetch_body(target.topic, number, 0, 100) for number in (-1, wire.INT32_MIN)})


@rule("fetch.offset-negative", "3", "a negative fetchOffset is CORRUPT_REQUEST, not out of range")
def offset_negative(target: Target) -> None:
    corrupt(target, {f"offset {number}": wire.fetch_body(target.topic, 0, number, 100) for number in (-1, wire.INT64_MIN)})


@rule("fetch.max-bytes", "3", "a maxBytes below 1 is CORRUPT_REQUEST")
def max_bytes(target: Target) -> None:
    corrupt(target, {f"maxBytes {number}": wire.fetch_body(target.topic, 0, 0, number) for number in (0, -1, wire.INT32_MIN)})


def corrupt_v2(target: Target, cases: dict[str, tuple[int, int]]) -> None:
    for what, (max_wait_ms, min_bytes) in cases.items():
        body = wire.fetch_body(target.topic, 0, 0, 100, max_wait_ms, min_bytes)
        refused(target, wire.FETCH, 2, body, Code.CORRUPT_REQUEST, f"FETCH v2 with {what}")


@rule("fetch.max-wait-negative", "3", "a negative maxWaitMillis is CORRUPT_REQUEST")
def max_wait_negative(target: Target) -> None:
    corrupt_v2(target, {"maxWaitMillis -1": (-1, 0), "maxWaitMillis -2147483648": (wire.INT32_MIN, 0)})


@rule("fetch.min-bytes", "3", "a minBytes outside 0..maxBytes is CORRUPT_REQUEST, also with maxWaitMillis 0")
def min_bytes(target: Target) -> None:
    cases = {f"minBytes {number} of maxBytes 100": (0, number) for number in (-1, wire.INT32_MIN, 101, wire.INT32_MAX)}
    corrupt_v2(target, cases)
    with target.connect() as connection:
        connection.fetch(target.topic, connection.partition(target.topic).high_watermark, 100, max_wait_ms=0, min_bytes=100)


@rule("fetch.versions", "3", "version 2 has two fields more than version 1, and neither version takes the other's body")
def versions(target: Target) -> None:
    one = wire.fetch_body(target.topic, 0, 0, 100)
    two = wire.fetch_body(target.topic, 0, 0, 100, 0, 0)
    refused(target, wire.FETCH, 1, two, Code.CORRUPT_REQUEST, "FETCH v1 with the fields of v2")
    refused(target, wire.FETCH, 2, one, Code.CORRUPT_REQUEST, "FETCH v2 without its fields")
    with target.connect() as connection:
        base = connection.produce(target.topic, target.payloads(2)).base_offset
        first = connection.fetch(target.topic, base)
        require(first == connection.fetch(target.topic, base, max_wait_ms=0), "FETCH v1 and v2 answer differently")


@rule("fetch.unknown", "3", "an unknown topic or partition is UNKNOWN_TOPIC_OR_PARTITION, at once")
def unknown(target: Target) -> None:
    with target.connect() as connection:
        partitions = len(target.topic_with_partitions(connection).partitions)
    for topic, partition in (("no.such.topic", 0), (target.topic, partitions), (target.topic, wire.INT32_MAX)):
        what = f"FETCH of {topic}-{partition}"
        body = wire.fetch_body(topic, partition, 0, 100)
        refused(target, wire.FETCH, 1, body, Code.UNKNOWN_TOPIC_OR_PARTITION, what)
        begin = time.monotonic()
        body = wire.fetch_body(topic, partition, 0, 100, 20_000, 1)
        refused(target, wire.FETCH, 2, body, Code.UNKNOWN_TOPIC_OR_PARTITION, what + " with a wait")
        require(elapsed_ms(begin) < 5000, f"{what} waited")


@rule("fetch.out-of-range", "3", "an offset above highWatermark or below logStartOffset is OFFSET_OUT_OF_RANGE")
def out_of_range(target: Target) -> None:
    with target.connect() as connection:
        connection.produce(target.topic, target.payloads(1))
        known = connection.partition(target.topic)
        outside = [known.high_watermark + 1, known.high_watermark + 1000, 2**31, 2**32, 2**33 + 1, wire.INT64_MAX]
        if known.log_start_offset > 0:
            outside += [0, known.log_start_offset - 1]
        for offset in outside:
            connection.expect(connection.send_fetch(target.topic, offset), Code.OFFSET_OUT_OF_RANGE, f"offset {offset} of {known}")
        connection.expect_open("FETCH out of range")
        inside = connection.fetch(target.topic, known.log_start_offset, 1)
        require(len(inside.payload) == 1, f"nothing at logStartOffset {known.log_start_offset}")


@rule("fetch.at-end", "3", "a FETCH at highWatermark is an empty success")
def at_end(target: Target) -> None:
    with target.connect() as connection:
        end = connection.partition(target.topic).high_watermark
        fetched = connection.fetch(target.topic, end)
        require(fetched == wire.Fetched(end, b""), f"FETCH at the end {end}: {fetched}")


@rule("fetch.cut", "3", "a payload is cut at maxBytes by bytes, also inside a record and its header, and is never empty")
def cut(target: Target) -> None:
    payloads = target.payloads(3, 20) + target.payloads(1, 300)
    with target.connect() as connection:
        base = connection.produce(target.topic, payloads).base_offset
        for index in range(len(payloads)):
            stored = wire.encode_records(payloads[index:])
            segment_end = None  # where the segment turned out to end
            for limit in [*range(1, 66), 100, len(stored) - 1, len(stored)]:
                payload = connection.fetch(target.topic, base + index, limit).payload
                require(bool(payload), f"maxBytes {limit}: empty although records are there")
                require(stored.startswith(payload), f"maxBytes {limit}: other bytes than were stored")
                if len(payload) < min(limit, len(stored)):
                    whole = not wire.split_records(payload).tail
                    require(whole and segment_end in (None, len(payload)), f"maxBytes {limit} gave {len(payload)} bytes")
                    segment_end = len(payload)


@rule("fetch.max-bytes-huge", "3", "maxBytes 2147483647 is an ordinary limit")
def max_bytes_huge(target: Target) -> None:
    with target.connect() as connection:
        payloads = target.payloads(2)
        base = connection.produce(target.topic, payloads).base_offset
        require(connection.read_all(target.topic, offset=base) == payloads, "maxBytes 2147483647 gives other records")


@rule("fetch.up-to-watermark", "3", "a payload ends at the announced highWatermark")
def up_to_watermark(target: Target) -> None:
    with target.connect() as connection, target.connect() as writer:
        base = connection.produce(target.topic, target.payloads(1)).base_offset
        for _ in range(50):
            sent = [writer.send_produce(target.topic, target.payloads(1)) for _ in range(4)]
            fetched = connection.fetch(target.topic, base, wire.INT32_MAX)
            records = wire.split_records(fetched.payload)
            reached = base + len(records.payloads)
            require(reached <= fetched.high_watermark, f"records up to {reached}, announced {fetched.high_watermark}")
            for number in sent:
                writer.expect_produced(number)
            base = reached


@rule("fetch.segment-end", "3", "a payload is cut at the end of its segment; the next FETCH goes on in the next one")
def segment_end(target: Target) -> None:
    capacity = target.segment_capacity(1 << 20)
    size = max(20, capacity // 7)  # six records and a rest that no seventh fits
    payloads = target.payloads(30, size)
    with target.connect() as connection:
        base = connection.produce(target.topic, payloads[:15]).base_offset
        connection.produce(target.topic, payloads[15:])
        at, cuts = 0, 0
        while at < len(payloads):
            payload = connection.fetch(target.topic, base + at, 4 * capacity).payload
            split = wire.split_records(payload)
            require(bool(split.payloads) and not split.tail, f"a payload of {len(payload)} bytes does not end with a record")
            require(len(payload) <= capacity, f"{len(payload)} bytes from a segment of {capacity}")
            require(split.payloads == payloads[at : at + len(split.payloads)], "records across segments come in a wrong order")
            at += len(split.payloads)
            cuts += 1
        require(cuts >= 5, f"30 records of a seventh of a segment came in {cuts} payloads")
