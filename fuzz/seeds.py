#!/usr/bin/env python3
"""Writes a seed corpus for each fuzz target: seeds.py FOLDER makes FOLDER/<target>/<name>. Standard library only."""

import pathlib
import struct
import sys


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def framed(body):
    return struct.pack(">i", len(body)) + body


def name(text):
    encoded = text.encode()
    return struct.pack(">H", len(encoded)) + encoded


def produce(acks, *payloads, topic="t"):
    records = b"".join(struct.pack(">i", len(payload)) + payload for payload in payloads)
    return struct.pack(">hhi", 1, 1, 7) + name(topic) + struct.pack(">ibi", 0, acks, len(payloads)) + records


def fetch(version, *waiting, offset=0, max_bytes=4096):
    body = struct.pack(">hhi", 2, version, 8) + name("t") + struct.pack(">iqi", 0, offset, max_bytes)
    return body + b"".join(struct.pack(">i", number) for number in waiting)


def metadata(*topics):
    return struct.pack(">hhii", 3, 1, 9, len(topics)) + b"".join(map(name, topics))


def record(payload):
    return struct.pack(">iI", len(payload), crc32c(payload)) + payload


def answer(correlation_id, body=b"", error=0):
    return struct.pack(">ih", correlation_id, error) + body


def metadata_answer(correlation_id, log_start, high_watermark):
    body = struct.pack(">i", 1) + name("t") + struct.pack(">iiqq", 1, 0, log_start, high_watermark)
    return answer(correlation_id, body)


def fetch_answer(correlation_id, high_watermark, payload):
    return answer(correlation_id, struct.pack(">qi", high_watermark, len(payload)) + payload)


REQUESTS = {
    "produce_none": produce(0, b"a"),
    "produce_written": produce(1, b"abc", b"d" * 100),
    "produce_forced": produce(2, b"x", topic="заказы"),
    "fetch_v1": fetch(1),
    "fetch_v2": fetch(2, 1000, 1),
    "fetch_v2_clamped": fetch(2, 100_000, 4096),
    "metadata_all": metadata(),
    "metadata_two": metadata("a", "я"),
    "unknown_api": struct.pack(">hhi", 9, 1, 1),
}

RECORDS = record(b"a") + record(b"bc" * 20)

ANSWERS = {
    "error": answer(1, error=5),
    "produce": answer(1, struct.pack(">qq", 3, 5)),
    "fetch_empty": fetch_answer(1, 9, b""),
    "fetch_records": fetch_answer(1, 7, RECORDS),
    "fetch_cut": fetch_answer(1, 7, RECORDS[:-1]),
    "fetch_corrupt": fetch_answer(1, 7, RECORDS[:-1] + b"!"),
    "metadata": metadata_answer(1, 2, 9),
    "records": RECORDS,
}

LAST = 2**63 - 1

# A consumer asks METADATA (1), then FETCH after FETCH; the first byte is the target's own.
CONVERSATIONS = {
    "two_fetches": [metadata_answer(1, 0, 3), fetch_answer(2, 3, RECORDS), fetch_answer(3, 3, record(b"z"))],
    "caught_up": [metadata_answer(1, 3, 3), fetch_answer(2, 3, b"")],
    "cut_record": [metadata_answer(1, 0, 1), fetch_answer(2, 1, RECORDS[:4])],
    "cut_size": [metadata_answer(1, 0, 1), fetch_answer(2, 1, RECORDS[:3]), fetch_answer(3, 1, RECORDS[:8])],
    "out_of_range": [metadata_answer(1, 0, 1), answer(2, error=2), metadata_answer(3, 0, 0)],
    "wrong_id": [metadata_answer(2, 0, 1)],
    "last_offset": [metadata_answer(1, LAST, LAST), fetch_answer(2, LAST, RECORDS)],
}

NAMES = ["orders", "a.b_c-1", "заказы", "注文", "٣", "é", "𝐀", "😀", "a b", "x" * 249, "x" * 250]

PROPERTIES = {
    "separators": b"booblik.port=1\nbooblik.data.dir: /d\nbooblik.topics a:1,b:2\n! comment\n",
    "escapes": b"booblik.topics=a\\u0416:1,\\\n  b:2\nbooblik.data.dir=\\uD83D\\uDE00\\t\\\\",
    "suffixes": b"booblik.retention.bytes=20GiB\nbooblik.retention.millis=7d\nbooblik.flush.every.records=unlimited\n",
    "wrong": b"booblik.port=-1\nbooblik.port=2\nport=3\nbooblik.topics=a:1,a:2,,b\nbooblik.transport=nio\n",
}


def checkpoint(*topics):
    entries = b"".join(name(topic) + struct.pack(">iqqqqq", 0, 9, 3, 120, 1000, 2000) for topic in topics)
    return b"BOOBLCKP" + struct.pack(">ii", 1, len(topics)) + entries


def index_file(base, *blocks):
    header = b"BOOBLIDX" + struct.pack(">iq", 1, base)
    return header + struct.pack(">I", crc32c(header)) + b"".join(blocks)


def summed(block):
    return block + struct.pack(">I", crc32c(block))


ENTRIES = struct.pack(">iiqII", 1, 1, 0, 0, 0xC1D04330)
SUMMARY = struct.pack(">iiqqqqqqq", 2, 0, 7, 9, 60, 60, 1, 0, 0)
DAMAGE = struct.pack(">iiqqqqqqq", 2, 1, 7, 9, 60, 60, 1, 0, 0) + struct.pack(">qqqq", 7, 8, 0, 30)

INDEX_FILES = {
    "whole": index_file(7, summed(ENTRIES), summed(SUMMARY), struct.pack(">i", len(SUMMARY) + 4), b"SEAL"),
    "blocks": framed(ENTRIES) + framed(SUMMARY),
    "damage": framed(ENTRIES) + framed(DAMAGE),
}

# The first byte says what the text is.
OPERATOR_INPUTS = {
    "variables": b"\0PORT=9092\nTOPICS=a:1,b:2\nSEGMENT_CAPACITY_BYTES=64MiB\n",
    "wrong_variables": b"\0PROT=9092\nPORT=99999\nTOPICS=a\n",
    "flags": b"\1\x01" + b"9092\n\x03a:1\n\x04" + b"64KiB\n",
    "address": b"\2127.0.0.1:9092",
    "address_ipv6": b"\2[::1]:9092",
    "format": b"\3%t-%p@%o %s %S %x %b %%\\n\\x41",
    "lines": b"\4one\ntwo\n\nthree",
    "prefixed": b"\5" + framed(b"one") + framed(b"two"),
    "whole": b"\6all of it",
}

# Choices of fuzz/directory_image.cc, byte by byte. In front: capacity, then open files and how the world is.
DEEP, FAILING = 0x40, 0x80


def good(count, size):
    return bytes([0, count - 1, size])


def bad(size):
    return bytes([5, size])


def zeros(count):
    return bytes([3, count])


def flipped(position, bits):
    return bytes([7]) + struct.pack(">HB", position, bits)


def large(count):
    return bytes([0xF8, count - 1])


def much_damage(more):
    return bytes([0xF9, more])


def segment(*pieces, partition=0, shift=0):
    """It begins `shift` offsets from where its partition has ended so far."""
    where = bytes([10, shift & 0xFF]) if shift else bytes(1)
    return bytes([0, partition]) + where + bytes([len(pieces)]) + b"".join(pieces)


def index(partition=0, summary=False, behind=1):
    return bytes([8, partition, 1, 31]) + (bytes([0, 1, 1, 1, 1, 1]) if summary else bytes([1])) + bytes([behind, 1])


def checkpointed(*which):
    """For each partition: None, or what it says: the end (-1), or the record with this number."""
    out = bytes([11, 0, 1])
    for at in which:
        out += bytes([0]) if at is None else bytes([1]) + (bytes([1]) if at < 0 else bytes([0, at])) + bytes([1, 1, 1])
    return out


def odd(name, content=b"", partition=None):
    return bytes([13, partition or 0, 0 if partition is None else 1, name, len(content)]) + content


def fault(operation, number, kind=0, lasts=False):
    return bytes([0, operation, number, kind, 0 if lasts else 1])


SEGMENT = segment(good(4, 20), good(1, 40))
SEALED = SEGMENT + index(summary=True)
# A sealed segment, one that holds the recovery point, and the name of a third that lost its records.
CRASHED = SEALED + segment(good(8, 30), good(3, 9), zeros(20)) + index() + bytes([11, 0, 1, 1, 0, 4, 1, 1, 1, 0])
LOST_NAME = segment(shift=5) + index()
DIRECTORIES = {
    "empty": bytes(2),
    "segment": bytes([1, 0]) + SEGMENT,
    "segments": bytes([0, 3]) + SEGMENT * 3,
    "indexed": bytes([0, 1]) + SEGMENT + index() + SEGMENT,
    "sealed": bytes([0, DEEP]) + SEALED * 3,
    "crashed": bytes([1, 0]) + CRASHED,
    "crashed_while_rolling": bytes([1, 0]) + CRASHED + LOST_NAME,
    "checkpoint": bytes([0, 1]) + SEGMENT + checkpointed(-1, None) + SEGMENT,
    "odd_names": bytes([0, 1]) + odd(2) + odd(4, partition=1) + odd(8) + checkpointed(0, -1),
    "odd_directories": bytes([0, 1]) + b"".join(odd(0xF9 + number) for number in range(6)),
    "partition_too_many": bytes([0, 1]) + odd(0xF8),
    "long_name": bytes([0, 1, 13, 0, 1, 9, 23]) + b"thisnameislongbutnotours",
    "many_names": bytes([0, 1]) + odd(0xFF),
    "topic_of_before": bytes([0, 1]) + odd(8) + bytes([11, 0, 1, 0xF9, 1, 1, 1, 0xF8]),
    "damage": bytes([2, 0]) + segment(good(4, 20), bad(20), good(4, 20)) + index() + SEGMENT,
    "damage_that_shifts": bytes([2, 0]) + segment(good(8, 20), flipped(31, 0x10), flipped(40, 1)) + index() + SEGMENT,
    "damage_behind_successor": bytes([2, 0]) + segment(good(4, 20), bad(9), bad(9)) + segment(good(8, 9), shift=-2) + SEGMENT,
    "much_damage": bytes([2, 0]) + segment(much_damage(15)) + SEGMENT,
    "large_records": bytes([2, 0]) + SEGMENT + segment(large(1), good(1, 9)) + checkpointed(0, None),
    "large_index": bytes([1, 0]) + SEGMENT + index(behind=0xF8) + SEGMENT,
}


def directories():
    yield from DIRECTORIES.items()
    # Each operation fails once, a few moments after another, and files become shorter.
    image = CRASHED + LOST_NAME
    for operation in range(13):
        for number in range(8):
            yield f"failing_{operation}_{number}", bytes([1, FAILING]) + fault(operation, number) + image
    for number in range(12):
        yield f"too_many_files_{number}", bytes([1, FAILING]) + fault(0, number, 2) + image
        yield f"failing_large_{number}", bytes([1, FAILING]) + fault(4, number) + DIRECTORIES["large_records"][2:]
        yield f"shorter_{number}", bytes([1, FAILING]) + fault(4, number, 3) + image


def sessions(streams):
    """The two bytes in front choose the world: calm, cut to pieces, tight limits, killed, reset, with a companion."""
    for key, stream in streams.items():
        for flags in (0b0_10000, 0b0_01000, 0b0_10100, 0b0_00010, 0b0_00001, 0b10_01100):
            yield f"{key}_{flags}", bytes([flags, 1]) + stream


def corpora():
    whole = {key: framed(body) for key, body in REQUESTS.items()}
    whole["pipeline"] = b"".join(whole.values())
    yield "request_decoder", whole
    yield "response_decoder", ANSWERS
    yield "properties", PROPERTIES
    yield "checkpoint", {f"entries_{count}": checkpoint(*["a", "заказы"][:count]) for count in range(3)}
    yield "index_file", INDEX_FILES
    yield "lock_file", {"number": b"1234\n", "none": b"", "text": b"12x", "long": b"9" * 40}
    yield "operator_input", OPERATOR_INPUTS
    yield "recovery", dict(directories())
    yield "session", dict(sessions(whole))
    yield "topic_name", {f"name_{i}": text.encode() for i, text in enumerate(NAMES)}
    yield "consumer", {f"{key}_{first}": bytes([first]) + b"".join(map(framed, bodies))
                       for key, bodies in CONVERSATIONS.items() for first in (0, 15, 254)}


def write(folder):
    for target, seeds in corpora():
        (folder / target).mkdir(parents=True, exist_ok=True)
        for seed, data in seeds.items():
            (folder / target / seed).write_bytes(data)


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
