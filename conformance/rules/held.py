"""Section 3: FETCH version 2 with a wait."""

from __future__ import annotations

import time

import booblik_wire as wire
from booblik_socket import Connection, elapsed_ms
from booblik_wire import Code
from rules.registry import Target, require, rule

LONG_MS = 30_000  # a wait that must not elapse


def end_of(connection: Connection, target: Target) -> int:
    return connection.partition(target.topic).high_watermark


@rule("held.wait-zero", "3", "maxWaitMillis 0 answers at once and ignores minBytes")
def wait_zero(target: Target) -> None:
    with target.connect() as connection:
        end = end_of(connection, target)
        begin = time.monotonic()
        require(connection.fetch(target.topic, end, 1000, max_wait_ms=0, min_bytes=1000).payload == b"", "not empty at the end")
        payloads = target.payloads(1)
        connection.produce(target.topic, payloads)
        payload = connection.fetch(target.topic, end, 1000, max_wait_ms=0, min_bytes=1000).payload
        require(payload == wire.encode_records(payloads), f"{len(payload)} bytes where one record is stored")
        require(elapsed_ms(begin) < target.timeout * 500, f"answers took {elapsed_ms(begin):.0f} ms")


@rule("held.elapsed", "3", "an elapsed wait is an empty success, not before the time and soon after it")
def elapsed(target: Target) -> None:
    with target.connect() as connection:
        end = end_of(connection, target)
        for wait_ms, min_bytes in ((60, 0), (120, 1), (120, 1000)):
            begin = time.monotonic()
            fetched = connection.fetch(target.topic, end, 1000, max_wait_ms=wait_ms, min_bytes=min_bytes)
            took = elapsed_ms(begin)
            require(fetched == wire.Fetched(end, b""), f"an elapsed wait answered {fetched}")
            require(wait_ms - 2 <= took < wait_ms + 2000, f"maxWaitMillis {wait_ms} answered after {took:.0f} ms")


@rule("held.elapsed-with-data", "3", "an elapsed wait gives what is there, though it is less than minBytes")
def elapsed_with_data(target: Target) -> None:
    with target.connect() as connection:
        payloads = target.payloads(1)
        base = connection.produce(target.topic, payloads).base_offset
        begin = time.monotonic()
        fetched = connection.fetch(target.topic, base, 100_000, max_wait_ms=120, min_bytes=1000)
        require(fetched.payload == wire.encode_records(payloads), f"{len(fetched.payload)} bytes after the wait")
        sealed = target.segment_bytes is not None  # then the segment may be full enough for an answer at once
        require(sealed or elapsed_ms(begin) >= 118, "answered before the wait was over, below minBytes")


@rule("held.wake-up", "3", "a held FETCH is answered as soon as another connection appends")
def wake_up(target: Target) -> None:
    with target.connect() as reader, target.connect() as writer:
        for ack in (wire.ACK_WRITTEN, wire.ACK_FORCED):
            for min_bytes in (0, 1, 28):
                end = end_of(writer, target)
                sent = reader.send_fetch(target.topic, end, 1000, max_wait_ms=LONG_MS, min_bytes=min_bytes)
                payloads = target.payloads(1)
                writer.produce(target.topic, payloads, ack=ack)
                fetched = reader.expect_fetched(sent)
                require(fetched.payload == wire.encode_records(payloads), f"woken with {len(fetched.payload)} bytes")
                require(fetched.high_watermark > end, f"woken with highWatermark {fetched.high_watermark}")


@rule("held.min-bytes", "3", "a held FETCH is answered when minBytes are there, not before")
def min_bytes(target: Target) -> None:
    with target.connect() as reader, target.connect() as writer:
        end = end_of(writer, target)
        payloads = target.payloads(4)
        wanted = wire.encode_records(payloads)
        most = len(wanted) if target.segment_bytes is None else 29
        sent = reader.send_fetch(target.topic, end, 1000, max_wait_ms=LONG_MS, min_bytes=min(most, len(wanted)))
        for payload in payloads:
            writer.produce(target.topic, [payload])
        fetched = reader.expect_fetched(sent)
        if target.segment_bytes is None:
            require(fetched.payload == wanted, f"minBytes {len(wanted)} was answered with {len(fetched.payload)} bytes")
        require(wanted.startswith(fetched.payload) and bool(fetched.payload), "woken with other bytes than were stored")


@rule("held.data-there", "3", "a FETCH that can be satisfied is not held")
def data_there(target: Target) -> None:
    with target.connect() as connection:
        base = connection.produce(target.topic, target.payloads(1)).base_offset
        begin = time.monotonic()
        fetched = connection.fetch(target.topic, base, 1000, max_wait_ms=LONG_MS, min_bytes=28)
        require(len(fetched.payload) == 28 and elapsed_ms(begin) < 5000, "held although the bytes are there")


@rule("held.out-of-range", "3", "OFFSET_OUT_OF_RANGE is answered at once, never after the wait")
def out_of_range(target: Target) -> None:
    with target.connect() as connection:
        offset = end_of(connection, target) + 1
        sent = connection.send_fetch(target.topic, offset, max_wait_ms=LONG_MS, min_bytes=1)
        connection.expect(sent, Code.OFFSET_OUT_OF_RANGE, "an offset beyond the end, with a wait")


@rule("held.own-connection", "3", "a held FETCH delays the answers behind it, which keep their order")
def own_connection(target: Target) -> None:
    with target.connect() as connection, target.connect() as other:
        end = end_of(connection, target)
        held = connection.send_fetch(target.topic, end, max_wait_ms=LONG_MS, min_bytes=1)
        behind = connection.send_metadata([target.topic])
        last = connection.send_fetch(target.topic, end, 1)
        require(not connection.answered(0.05), "something was answered before the held FETCH")
        other.produce(target.topic, target.payloads(1))
        require(len(connection.expect_fetched(held).payload) == 28, "the held FETCH gave no record")
        known = connection.expect_metadata(behind)[0].partitions[0]
        require(known.high_watermark == end + 1, f"METADATA behind a held FETCH says {known}, a record went to {end}")
        require(len(connection.expect_fetched(last).payload) == 1, "the last FETCH gave nothing")


@rule("held.other-connections", "3", "a held FETCH delays nobody else")
def other_connections(target: Target) -> None:
    readers = [target.connect() for _ in range(20)]
    try:
        with target.connect() as connection:
            end = end_of(connection, target)
            held = [reader.send_fetch(target.topic, end, max_wait_ms=LONG_MS, min_bytes=1) for reader in readers]
            begin = time.monotonic()
            for _ in range(20):
                connection.fetch(target.topic, max(end - 1, 0), 100)
                connection.metadata()
            require(elapsed_ms(begin) < 5000, f"requests beside held ones took {elapsed_ms(begin):.0f} ms")
            connection.produce(target.topic, target.payloads(1))
            for reader, number in zip(readers, held):
                require(len(reader.expect_fetched(number).payload) == 28, "a held FETCH gave no record")
    finally:
        for reader in readers:
            reader.close()


@rule("held.half-close", "3", "a peer that has finished sending still gets the answer of its held FETCH")
def half_close(target: Target) -> None:
    with target.connect() as reader, target.connect() as writer:
        end = end_of(writer, target)
        first = reader.send_fetch(target.topic, end, max_wait_ms=LONG_MS, min_bytes=1)
        second = reader.send_fetch(target.topic, end, max_wait_ms=60, min_bytes=1000, max_bytes=1000)
        reader.half_close()
        writer.produce(target.topic, target.payloads(1))
        require(len(reader.expect_fetched(first).payload) == 28, "the held FETCH gave no record")
        reader.expect_fetched(second)
        reader.expect_end("after all answers of a half-closed connection")


@rule("held.reset", "3", "a peer that resets while its FETCH is held disturbs nobody")
def reset(target: Target) -> None:
    with target.connect() as connection:
        for _ in range(20):
            gone = target.connect()
            gone.hold_fetch(target.topic, end_of(gone, target), LONG_MS)
            gone.reset()
        connection.produce(target.topic, target.payloads(1))
        connection.expect_open("after resets of held FETCHes")


@rule("held.sealed", "3", "a sealed segment is answered at once with what it has, below minBytes too")
def sealed(target: Target) -> None:
    capacity = target.segment_capacity(1 << 20)
    payloads = target.payloads(7, max(20, capacity // 3))
    with target.connect() as connection:
        base = connection.produce(target.topic, payloads).base_offset
        for index in range(3):  # at least two segments further on, the first ones are sealed
            begin = time.monotonic()
            fetched = connection.fetch(target.topic, base + index, 4 * capacity, max_wait_ms=LONG_MS, min_bytes=4 * capacity)
            split = wire.split_records(fetched.payload)
            require(elapsed_ms(begin) < 5000, "a FETCH of a sealed segment was held")
            require(bool(split.payloads) and not split.tail, "a sealed segment gave no whole records")


@rule("held.wait-clamp", "3", "maxWaitMillis is clamped to 60 000", slow=True)
def wait_clamp(target: Target) -> None:
    with target.connect() as connection:
        connection.timeout = 70.0
        end = end_of(connection, target)
        sent = connection.send_fetch(target.topic, end, max_wait_ms=wire.INT32_MAX, min_bytes=1)
        begin = time.monotonic()
        require(connection.answered(70.0), "a FETCH was held for more than 70 s")
        require(elapsed_ms(begin) > 59_000, f"a FETCH with the longest wait was answered after {elapsed_ms(begin):.0f} ms")
        require(connection.expect_fetched(sent).payload == b"", "an elapsed wait is not empty")
