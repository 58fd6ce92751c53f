"""Section 2: records that cannot be stored, or never fetched."""

from __future__ import annotations

import booblik_wire as wire
from booblik_wire import ACK_FORCED, ACK_NONE, ACK_WRITTEN, Code
from rules.registry import Skipped, Target, require, rule

SENDABLE_MOST = wire.FRAME_LENGTH_MAX - 64  # of a record, whatever the topic's name


def too_large_for_segment(target: Target) -> list[list[bytes]]:
    """Batches with one record that is a byte too large, alone and behind and before good ones."""
    capacity = target.segment_capacity(SENDABLE_MOST // 2)
    large = bytes(capacity - wire.RECORD_HEADER_BYTES + 1)
    return [[large], [b"good", large], [large, b"good"]]


@rule("large.segment", "2", "a record that cannot fit a segment is RECORD_TOO_LARGE, and nothing of its batch is appended")
def segment(target: Target) -> None:
    with target.connect() as connection:
        end = connection.partition(target.topic).high_watermark
        for batch in too_large_for_segment(target):
            for ack in (ACK_WRITTEN, ACK_FORCED):
                sent = connection.send_produce(target.topic, batch, ack=ack)
                connection.expect(sent, Code.RECORD_TOO_LARGE, f"records of {[len(one) for one in batch]} bytes")
        require(connection.partition(target.topic).high_watermark == end, "a part of a refused batch was appended")


@rule("large.none", "2", "with ackPolicy 0 a record that is too large is not answered")
def none(target: Target) -> None:
    with target.connect() as connection:
        end = connection.partition(target.topic).high_watermark
        for batch in too_large_for_segment(target):
            connection.send_produce(target.topic, batch, ack=ACK_NONE)
        connection.expect_open("a silent record that is too large")
        require(connection.partition(target.topic).high_watermark == end, "a part of a refused batch was appended")


@rule("large.segment-exact", "2", "a record that fills a segment to the byte is accepted")
def segment_exact(target: Target) -> None:
    capacity = target.segment_capacity(1 << 20)
    payload = target.payloads(1, capacity - wire.RECORD_HEADER_BYTES)
    with target.connect() as connection:
        for _ in range(2):
            base = connection.produce(target.topic, payload).base_offset
            stored = connection.fetch(target.topic, base, wire.INT32_MAX).payload
            require(stored == wire.encode_records(payload), f"a record of {len(payload[0])} bytes comes back wrong")


def topic_with_a_short_name(target: Target) -> str:
    # Only beside a name of one or two bytes does a request have room for a record above the limit.
    with target.connect() as connection:
        for topic in connection.metadata():
            if len(topic.name.encode()) <= 2:
                return topic.name
    raise Skipped("the broker has no topic with a name of one or two bytes")


def require_large_segments(target: Target) -> None:
    if target.segment_bytes is not None and target.segment_bytes < 3 * wire.FETCH_PAYLOAD_MAX:
        raise Skipped(f"the segment capacity is {target.segment_bytes} bytes, the rule needs more than 24 MiB")


@rule("large.fetchable", "2", "a record of 8 388 582 bytes is stored and fetched whole; one byte more is RECORD_TOO_LARGE")
def fetchable(target: Target) -> None:
    require_large_segments(target)
    topic = topic_with_a_short_name(target)
    with target.connect() as connection:
        end = connection.partition(topic).high_watermark
        sent = connection.send_produce(topic, [bytes(wire.RECORD_PAYLOAD_MAX + 1)])
        connection.expect(sent, Code.RECORD_TOO_LARGE, "a record that no FETCH could carry")
        require(connection.partition(topic).high_watermark == end, "a refused record was appended")
        payload = bytes(range(251)) * (wire.RECORD_PAYLOAD_MAX // 251 + 1)
        payload = payload[: wire.RECORD_PAYLOAD_MAX]
        base = connection.produce(topic, [payload]).base_offset
        stored = connection.fetch(topic, base, wire.INT32_MAX).payload
        # The checksum of 8 MiB takes seconds in Python; the bytes say enough.
        require(len(stored) == wire.FETCH_PAYLOAD_MAX, f"the largest record comes back as {len(stored)} bytes")
        require(stored[wire.RECORD_HEADER_BYTES :] == payload, "the largest record comes back with other bytes")


@rule("fetch.frame-max", "1, 3", "a FETCH answer is cut at 8 388 590 bytes of payload")
def frame_max(target: Target) -> None:
    require_large_segments(target)
    with target.connect() as connection:
        payloads = [bytes([65 + number]) * (1 << 20) for number in range(18)]
        base = min(connection.produce(target.topic, [payload]).base_offset for payload in payloads)
        stored = connection.fetch(target.topic, base, wire.INT32_MAX).payload
        whole, tail = divmod(len(stored), (1 << 20) + wire.RECORD_HEADER_BYTES)
        if tail == 0:  # the segment ends behind these records; the next one holds enough of the rest
            stored = connection.fetch(target.topic, base + whole, wire.INT32_MAX).payload
        require(len(stored) == wire.FETCH_PAYLOAD_MAX, f"{len(stored)} bytes where 8 388 590 are allowed and stored")
        for limit in (wire.FETCH_PAYLOAD_MAX - 1, wire.FETCH_PAYLOAD_MAX, wire.FETCH_PAYLOAD_MAX + 1):
            again = connection.fetch(target.topic, base, limit).payload
            require(len(again) <= min(limit, wire.FETCH_PAYLOAD_MAX), f"maxBytes {limit} gave {len(again)} bytes")
