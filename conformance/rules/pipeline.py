"""Section 1: many requests on one connection."""

from __future__ import annotations

from typing import Callable

import booblik_wire as wire
from booblik_socket import Connection
from booblik_wire import ACK_FORCED, ACK_NONE, ACK_WRITTEN, Code
from rules.registry import Target, require, rule


@rule("pipeline.order", "1", "answers leave in the order of the requests, of every kind and outcome")
def order(target: Target) -> None:
    with target.connect() as connection:
        end = connection.partition(target.topic).high_watermark
        makers: list[tuple[Code, int, int, Callable[[], bytes]]] = [
            (Code.NONE, wire.PRODUCE, 1, lambda: wire.produce_body(target.topic, 0, ACK_FORCED, target.payloads(1))),
            (Code.NONE, wire.METADATA, 1, lambda: wire.metadata_body()),
            (Code.NONE, wire.PRODUCE, 1, lambda: wire.produce_body(target.topic, 0, ACK_WRITTEN, target.payloads(1))),
            (Code.OFFSET_OUT_OF_RANGE, wire.FETCH, 1, lambda: wire.fetch_body(target.topic, 0, wire.INT64_MAX, 9)),
            (Code.UNSUPPORTED_VERSION, 77, 1, lambda: b""),
            (Code.NONE, wire.FETCH, 1, lambda: wire.fetch_body(target.topic, 0, end, 1000)),
            (Code.CORRUPT_REQUEST, wire.PRODUCE, 1, lambda: b"\x00"),
            (Code.UNKNOWN_TOPIC_OR_PARTITION, wire.FETCH, 2, lambda: wire.fetch_body("no.such", 0, 0, 9, 1000, 1)),
        ]
        stream, due = bytearray(), []
        for _ in range(25):
            for code, api_key, version, make in makers:
                number = connection.next_id()
                stream += wire.request(api_key, version, number, make())
                due.append((number, code))
        connection.send(stream)
        for number, code in due:
            connection.expect(number, code, "one of 200 pipelined requests")
        connection.expect_open("after 200 pipelined requests")


@rule("pipeline.produce-order", "1", "PRODUCEs of one connection are appended in their order, whatever their ackPolicy")
def produce_order(target: Target) -> None:
    with target.connect() as connection:
        end = connection.partition(target.topic).high_watermark
        payloads = target.payloads(300)
        acks = (ACK_FORCED, ACK_WRITTEN, ACK_NONE)
        sent = [
            (index, connection.send_produce(target.topic, [payload], ack=acks[index % 3]))
            for index, payload in enumerate(payloads)
        ]
        for index, number in sent:
            if acks[index % 3] != ACK_NONE:
                produced = connection.expect_produced(number)
                require(produced.base_offset == end + index, f"PRODUCE {index} got {produced}, the first was at {end}")
        require(connection.read_all(target.topic, offset=end) == payloads, "records are not in the order they were sent")


@rule("pipeline.fetch-sees-produce", "1", "a FETCH sees every PRODUCE sent before it on its connection")
def fetch_sees_produce(target: Target) -> None:
    with target.connect() as connection:
        end = connection.partition(target.topic).high_watermark
        for ack in (ACK_WRITTEN, ACK_NONE, ACK_FORCED) * 20:
            payloads = target.payloads(1)
            produced = connection.send_produce(target.topic, payloads, ack=ack)
            fetched = connection.send_fetch(target.topic, end)
            if ack != ACK_NONE:
                connection.expect_produced(produced)
            payload = connection.expect_fetched(fetched).payload
            require(payload == wire.encode_records(payloads), f"FETCH behind a PRODUCE with ackPolicy {ack} does not see it")
            end += 1


@rule("pipeline.metadata-sees-produce", "1", "a METADATA sees every PRODUCE sent before it on its connection")
def metadata_sees_produce(target: Target) -> None:
    with target.connect() as connection:
        end = connection.partition(target.topic).high_watermark
        for ack in (ACK_WRITTEN, ACK_NONE, ACK_FORCED) * 20:
            produced = connection.send_produce(target.topic, target.payloads(1), ack=ack)
            asked = connection.send_metadata([target.topic])
            if ack != ACK_NONE:
                connection.expect_produced(produced)
            end += 1
            known = connection.expect_metadata(asked)[0].partitions[0]
            require(known.high_watermark == end, f"METADATA behind a PRODUCE with ackPolicy {ack}: {known}, the end is {end}")


@rule("pipeline.deep", "1", "thousands of requests sent at once are each answered once")
def deep(target: Target) -> None:
    with target.connect() as connection:
        number = connection.next_id()
        body = wire.fetch_body(target.topic, 0, connection.partition(target.topic).high_watermark, 100)
        connection.send(b"".join(wire.request(wire.FETCH, 1, number + index, body) for index in range(5000)))
        for index in range(5000):
            connection.expect(number + index)
        connection.expect_open("after 5 000 requests")


def half_closed(connection: Connection, target: Target) -> None:
    payloads = target.payloads(30)
    end = connection.partition(target.topic).high_watermark
    sent = [connection.send_produce(target.topic, [payload], ack=ACK_FORCED) for payload in payloads]
    last = connection.send_fetch(target.topic, end)
    connection.half_close()
    for number in sent:
        connection.expect_produced(number)
    require(wire.encode_records(payloads).startswith(connection.expect_fetched(last).payload), "FETCH gave other bytes")
    connection.expect_end("after all answers of a half-closed connection")


@rule("pipeline.half-close", "1", "a peer that has finished sending still gets all its answers, then the end")
def half_close(target: Target) -> None:
    with target.connect() as connection:
        half_closed(connection, target)


@rule("pipeline.cut-frame", "1", "a frame that is cut off by the end of the stream has no effect")
def cut_frame(target: Target) -> None:
    with target.connect() as watcher:
        end = watcher.partition(target.topic).high_watermark
        whole = wire.request(wire.PRODUCE, 1, 5, wire.produce_body(target.topic, 0, ACK_NONE, target.payloads(1)))
        for length in (1, 3, 4, 11, len(whole) - 1):
            with target.connect() as connection:
                number = connection.send_metadata([target.topic])
                connection.send(whole[:length])
                connection.half_close()
                connection.expect_metadata(number)
                connection.expect_end(f"a request cut to {length} bytes")
        require(watcher.partition(target.topic).high_watermark == end, "a request that never came whole was appended")
