"""Section 4: METADATA."""

from __future__ import annotations

import booblik_wire as wire
from booblik_wire import Code
from rules.registry import Skipped, Target, refused, require, rule


@rule("metadata.count", "4", "a negative topicCount, or one that the body does not hold, is CORRUPT_REQUEST")
def count(target: Target) -> None:
    for announced in (-1, wire.INT32_MIN, 2, 1000, wire.INT32_MAX):
        body = wire.metadata_body([target.topic], count=announced)
        refused(target, wire.METADATA, 1, body, Code.CORRUPT_REQUEST, f"METADATA with topicCount {announced} and one name")
        body = wire.metadata_body(count=announced)
        refused(target, wire.METADATA, 1, body, Code.CORRUPT_REQUEST, f"METADATA with topicCount {announced} and no name")


@rule("metadata.order", "4", "topics come by name in byte order, partitions by number")
def order(target: Target) -> None:
    with target.connect() as connection:
        everything = connection.metadata()
        names = [topic.name.encode() for topic in everything]
        require(names == sorted(set(names)), f"topics are not in byte order: {names}")
        for topic in everything:
            numbers = [partition.number for partition in topic.partitions]
            require(numbers == list(range(len(numbers))) and bool(numbers), f"partitions of {topic.name}: {numbers}")
        if len(everything) < 2:
            raise Skipped("the broker has one topic, so their order shows nothing")
        backwards = [topic.name for topic in reversed(everything)]
        require(connection.metadata(backwards) == everything, "topics asked backwards do not come in byte order")


@rule("metadata.named", "4", "an answer holds the topics that were named and no others")
def named(target: Target) -> None:
    with target.connect() as connection:
        everything = connection.metadata()
        require(target.topic in [topic.name for topic in everything], f"topicCount 0 does not list {target.topic}")
        for topic in everything:
            require(connection.metadata([topic.name]) == [topic], f"METADATA of {topic.name} alone differs from that of all")


@rule("metadata.duplicate", "4", "a name asked twice appears once")
def duplicate(target: Target) -> None:
    with target.connect() as connection:
        answer = connection.metadata([target.topic] * 3)
        require([topic.name for topic in answer] == [target.topic], f"asked three times: {answer}")


@rule("metadata.unknown", "4", "one unknown name fails the whole request")
def unknown(target: Target) -> None:
    for names in (["no.such"], [target.topic, "no.such"], ["no.such", target.topic]):
        body = wire.metadata_body(names)
        refused(target, wire.METADATA, 1, body, Code.UNKNOWN_TOPIC_OR_PARTITION, f"METADATA of {names}")


@rule("metadata.watermark", "4", "highWatermark moves with every record; logStartOffset is not beyond it")
def watermark(target: Target) -> None:
    with target.connect() as connection:
        before = connection.partition(target.topic)
        require(0 <= before.log_start_offset <= before.high_watermark, f"{before}")
        produced = connection.produce(target.topic, target.payloads(3))
        after = connection.partition(target.topic)
        require(produced.base_offset == before.high_watermark, f"{produced} behind highWatermark {before.high_watermark}")
        require(after.high_watermark == before.high_watermark + 3, f"three records moved {before} to {after}")
        fetched = connection.fetch(target.topic, after.log_start_offset, 1)
        require(fetched.high_watermark == after.high_watermark, "FETCH and METADATA announce different highWatermarks")
