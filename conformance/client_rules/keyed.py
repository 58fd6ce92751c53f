"""Section 6: the partition of a key, and that the key does not travel."""

from __future__ import annotations

import csv
from pathlib import Path

import booblik_wire as wire
from client_rules.registry import PARTITIONS, TOPIC, ClientTarget, end_of, require, rule
from scripted_broker import Script

# By name, with the partition counts asked for: those that show a signed byte, a signed remainder, a product taken ahead of the
# exclusive or, a hash of characters instead of bytes, and an empty key that is taken for none.
VECTORS = {
    "empty": (64,),
    "byte-80": (3,),
    "byte-ff": (3,),
    "ascii-user-1": (2, 64),
    "ascii-ba": (16,),
    "cyrillic": (3, 4),
    "all-256-bytes": (3,),
    "long-high-bytes-200": (1, 3),
}


def vectors() -> dict[str, dict[str, str]]:
    path = Path(__file__).resolve().parents[1] / "vectors" / "partitioner.tsv"
    lines = path.read_text().splitlines()
    return {row["name"]: row for row in csv.DictReader(lines[1:], delimiter="\t")}


@rule("keyed.partitioner", "6", "the partition of a key is that of the golden vectors (FNV-1a, unsigned)", alone=False)
def partitioner(target: ClientTarget) -> None:
    target.need("keyed-producer")
    rows = vectors()
    for name, counts in VECTORS.items():
        for count in counts:
            expected = int(rows[name][f"p{count}"])
            with target.scripted(Script(partitions={TOPIC: count})) as scripted:
                answer = scripted.run("produce-keyed", TOPIC, rows[name]["key"], "6869")
                answer.has(partition=expected, baseOffset=0, logEndOffset=1)
                sent = [one.partition for one in scripted.broker.of_kind(wire.PRODUCE)]
                answer.require(sent == [expected], f"vector {name} of {count}: expected partition {expected} on the wire, not {sent}")


@rule("keyed.key-stays", "6", "the record is stored alone, in the partition that the client names: the key does not travel")
def key_stays(target: ClientTarget) -> None:
    target.need("keyed-producer")
    key, payload = b"\xd0\xb7\x80-1", target.payload()
    number = wire.partition_for_key(key, PARTITIONS)
    with target.reader() as reader:
        end = end_of(reader, TOPIC, number)
        answer = target.run("produce-keyed", TOPIC, key.hex(), payload.hex())
        answer.has(partition=number, baseOffset=end, logEndOffset=end + 1)
        stored = reader.read_all(TOPIC, number, end)
        require(stored == [payload], f"produce-keyed: stored is {[one.hex() for one in stored]} instead of {payload.hex()}")


@rule("keyed.unknown", "6", "an unknown topic is error=UNKNOWN_TOPIC_OR_PARTITION")
def unknown(target: ClientTarget) -> None:
    target.need("keyed-producer")
    target.run("produce-keyed", "no.such.topic", "6b", "6869").refused("UNKNOWN_TOPIC_OR_PARTITION")
