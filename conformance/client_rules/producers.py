"""Section 2: PRODUCE. What was stored is read back by the kit itself."""

from __future__ import annotations

from typing import Sequence

import booblik_wire as wire
from booblik_socket import Connection
from client_command import Answer
from client_rules.registry import PARTITIONS, SINGLE, TOPIC, ClientTarget, end_of, require, rule
from ruleset import Skipped
from scripted_broker import Reply, Script


def hexes(payloads: Sequence[bytes]) -> str:
    return ",".join(payload.hex() for payload in payloads)


def stored_since(reader: Connection, topic: str, partition: int, offset: int) -> list[bytes]:
    return reader.read_all(topic, partition, offset)


def unchanged(reader: Connection, answer: Answer, end: int) -> None:
    answer.require(end_of(reader, TOPIC, 0) == end, "nothing may be appended")


@rule("produce.stored-bytes", "2", "a record is stored byte for byte")
def stored_bytes(target: ClientTarget) -> None:
    target.need("producer")
    payloads = [bytes(range(256)), b"\x00", b"\xff", b"\xc3\x28", "ёж".encode()]
    with target.reader() as reader:
        end = end_of(reader, TOPIC, 0)
        answer = target.run("produce", TOPIC, "0", "1", hexes(payloads))
        answer.carried_out()
        stored = stored_since(reader, TOPIC, 0, end)
        answer.require(stored == payloads, f"other bytes are stored: {[one.hex()[:40] for one in stored]}")


@rule("produce.order", "2", "the records of one batch are stored in their order")
def order(target: ClientTarget) -> None:
    target.need("producer")
    payloads = [target.payload() for _ in range(5)]
    with target.reader() as reader:
        end = end_of(reader, SINGLE, 0)
        answer = target.run("produce", SINGLE, "0", "1", hexes(payloads))
        answer.carried_out()
        answer.require(stored_since(reader, SINGLE, 0, end) == payloads, "the records are stored in another order")


@rule("produce.offsets", "2", "baseOffset is the offset of the first record, logEndOffset that behind the last")
def offsets(target: ClientTarget) -> None:
    target.need("producer")
    with target.reader() as reader:
        reader.produce(TOPIC, [target.payload()])
        end = end_of(reader, TOPIC, 0)
        payloads = [target.payload() for _ in range(3)]
        target.run("produce", TOPIC, "0", "1", hexes(payloads)).has(baseOffset=end, logEndOffset=end + 3)


@rule("produce.one-request", "2", "the records of one call travel in one PRODUCE", alone=False)
def one_request(target: ClientTarget) -> None:
    target.need("producer")
    payloads = tuple(target.payload() for _ in range(3))
    with target.scripted() as scripted:
        scripted.run("produce", TOPIC, "1", "1", hexes(payloads)).has(baseOffset=0, logEndOffset=3)
        seen = scripted.broker.of_kind(wire.PRODUCE)
        require([one.payloads for one in seen] == [payloads], f"{len(seen)} PRODUCEs came for one call of three records")


@rule("produce.partition", "2", "records go to the partition that was asked for")
def partition(target: ClientTarget) -> None:
    target.need("producer")
    with target.reader() as reader:
        for number in reversed(range(PARTITIONS)):
            end = end_of(reader, TOPIC, number)
            payload = target.payload()
            answer = target.run("produce", TOPIC, str(number), "1", payload.hex())
            answer.has(baseOffset=end, logEndOffset=end + 1)
            answer.require(stored_since(reader, TOPIC, number, end) == [payload], f"partition {number} did not get the record")


@rule("produce.ack-on-wire", "2", "ackPolicy 0, 1 and 2 are sent as they were asked for", alone=False)
def ack_on_wire(target: ClientTarget) -> None:
    target.need("producer")
    with target.scripted() as scripted:
        for ack in (wire.ACK_FORCED, wire.ACK_WRITTEN, wire.ACK_NONE):
            answer = scripted.run("produce", TOPIC, "0", str(ack), "6869")
            answer.carried_out()
            seen = scripted.broker.of_kind(wire.PRODUCE)
            answer.require(bool(seen) and seen[-1].ack == ack, f"expected ackPolicy {ack} on the wire, not {seen[-1].ack if seen else '-'}")


@rule("produce.none-silent", "2", "ackPolicy 0 has no answer: the client waits for none and reports none", alone=False)
def none_silent(target: ClientTarget) -> None:
    target.need("producer")
    with target.scripted() as scripted:
        scripted.run("produce", TOPIC, "0", "0", "6869", timeout_ms=2000).silent()
        require(len(scripted.broker.of_kind(wire.PRODUCE)) == 1, "expected exactly one PRODUCE with ackPolicy 0")


@rule("produce.none-arrives", "2", "with ackPolicy 0 the broker has the records when the client ends")
def none_arrives(target: ClientTarget) -> None:
    target.need("producer")
    payloads = [target.payload(1000) for _ in range(3)]
    with target.reader() as reader:
        end = end_of(reader, TOPIC, 0)
        answer = target.run("produce", TOPIC, "0", "0", hexes(payloads))
        answer.silent()
        answer.require(stored_since(reader, TOPIC, 0, end) == payloads, "the records are not there")


@rule("produce.none-refused", "2", "with ackPolicy 0 nobody learns of a refusal")
def none_refused(target: ClientTarget) -> None:
    target.need("producer")
    target.run("produce", TOPIC, str(PARTITIONS), "0", "6869").silent()


@rule("produce.unknown", "2", "an unknown topic or partition is error=UNKNOWN_TOPIC_OR_PARTITION and exit 0")
def unknown(target: ClientTarget) -> None:
    target.need("producer")
    target.run("produce", "no.such.topic", "0", "1", "6869").refused("UNKNOWN_TOPIC_OR_PARTITION")
    target.run("produce", TOPIC, str(PARTITIONS), "1", "6869").refused("UNKNOWN_TOPIC_OR_PARTITION")


@rule("produce.too-large", "2", "a record that fits no segment is error=RECORD_TOO_LARGE, and nothing of its batch is stored")
def too_large(target: ClientTarget) -> None:
    target.need("producer")
    if target.segment_bytes is None or target.segment_bytes > 32_768:
        raise Skipped("it needs a broker whose segment capacity is known and at most 32768 bytes (--segment-bytes)")
    largest = target.segment_bytes - wire.RECORD_HEADER_BYTES
    with target.reader() as reader:
        end = end_of(reader, TOPIC, 0)
        answer = target.run("produce", TOPIC, "0", "1", hexes([target.payload(), target.payload(largest + 1)]))
        answer.refused("RECORD_TOO_LARGE")
        unchanged(reader, answer, end)
        target.run("produce", TOPIC, "0", "1", target.payload(largest).hex()).has(baseOffset=end, logEndOffset=end + 1)


@rule("produce.empty-record", "2", "a batch with an empty record is error=CORRUPT_REQUEST, and nothing of it is stored")
def empty_record(target: ClientTarget) -> None:
    target.need("producer")
    with target.reader() as reader:
        end = end_of(reader, TOPIC, 0)
        for records in ("", "61,,62"):
            answer = target.run("produce", TOPIC, "0", "1", records)
            answer.refused("CORRUPT_REQUEST")
            unchanged(reader, answer, end)


@rule("produce.offsets-64", "2", "offsets have 64 bits", alone=False)
def offsets_64(target: ClientTarget) -> None:
    target.need("producer")
    end = 2**33 + 2**31 + 5
    with target.scripted(Script(end=end)) as scripted:
        scripted.run("produce", TOPIC, "0", "1", "6869").has(baseOffset=end, logEndOffset=end + 1)


@rule("produce.not-twice", "2", "a PRODUCE whose answer did not come is not sent again: its records may be stored", alone=False)
def not_twice(target: ClientTarget) -> None:
    calls = [call for call in target.calls() if call.api_key == wire.PRODUCE]
    if not calls:
        raise Skipped("the client is no producer")
    for call in calls:
        script = Script(mangled=wire.PRODUCE, mangle=lambda answer: Reply([], then_end=True))
        with target.scripted(script) as scripted:
            answer = scripted.run(*call.arguments)
            sent = len(scripted.broker.of_kind(wire.PRODUCE))
            answer.require(sent == 1, f"expected one PRODUCE, {sent} came")
            answer.not_carried_out()
