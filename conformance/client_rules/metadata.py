"""Section 4: METADATA."""

from __future__ import annotations

from client_rules.registry import PARTITIONS, SINGLE, TOPIC, ClientTarget, rule
from scripted_broker import Script


@rule("metadata.partitions", "4", "every partition is there, with its logStartOffset and highWatermark")
def partitions(target: ClientTarget) -> None:
    target.need("admin")
    with target.reader() as reader:
        reader.produce(TOPIC, [target.payload()], PARTITIONS - 1)
        for topic in (TOPIC, SINGLE):
            known = reader.metadata([topic])[0].partitions
            answer = target.run("metadata", topic)
            answer.carried_out()
            answer.require(answer.values("name") == [topic], f"expected name={topic}")
            told = list(zip(*(answer.numbers(key) for key in ("partition", "logStartOffset", "highWatermark"))))
            expected = [(one.number, one.log_start_offset, one.high_watermark) for one in known]
            answer.require(told == expected, f"expected partition, logStartOffset, highWatermark of {expected}")


@rule("metadata.offsets-64", "4", "offsets have 64 bits", alone=False)
def offsets_64(target: ClientTarget) -> None:
    target.need("admin")
    start, end = 2**33 + 3, 2**40 + 2**31 + 1
    with target.scripted(Script(log_start=start, end=end)) as scripted:
        scripted.run("metadata", SINGLE).has(partition=0, logStartOffset=start, highWatermark=end)


@rule("metadata.unknown", "4", "an unknown topic is error=UNKNOWN_TOPIC_OR_PARTITION")
def unknown(target: ClientTarget) -> None:
    target.need("admin")
    target.run("metadata", "no.such.topic").refused("UNKNOWN_TOPIC_OR_PARTITION")
