#!/usr/bin/env python3
"""Makes the golden vectors of the two algorithms that every client shares (docs/protocol.md).

This is a second implementation, written from the protocol and not from the C++ code: vectors taken from that code
would only prove that it agrees with itself. Python's standard library is all it needs.

  generate.py            write partitioner.{tsv,json} and crc32c.{tsv,json} beside this file
  generate.py --check    exit 1 if the files here are not exactly what would be written

When a client fails a vector, the client is wrong. The only reason to write the files again is to add vectors.
"""

import argparse
import json
import pathlib
import sys

PARTITION_COUNTS = (1, 2, 3, 4, 16, 64)
MASK_32 = 0xFFFFFFFF


def fnv1a_32(key: bytes) -> int:
    """FNV-1a: a byte is 0..255, the product is taken modulo 2**32."""
    value = 0x811C9DC5
    for byte in key:
        value = ((value ^ byte) * 0x01000193) & MASK_32
    return value


def crc32c(data: bytes) -> int:
    """CRC-32C bit by bit: reflected polynomial, init and xorout all ones."""
    value = MASK_32
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value ^ MASK_32


def counted(length: int) -> bytes:
    """Bytes that differ from their neighbours and do not repeat with period 256."""
    return bytes((i * 7 + i // 256) & 0xFF for i in range(length))


# Chosen for the mistake that each would show, not for coverage. Names are unique.
KEYS = [
    ("empty", b""),
    ("byte-00", b"\x00"),
    # 7f and 80 are neighbours on purpose: a signed reading of bytes parts there.
    ("byte-7f", b"\x7f"),
    ("byte-80", b"\x80"),
    ("byte-ff", b"\xff"),
    ("two-zero-bytes", b"\x00\x00"),
    ("ascii-a", b"a"),
    ("ascii-user-1", b"user-1"),
    # One bit apart: '1' is 0x31, '3' is 0x33, '0' is 0x30.
    ("ascii-user-3", b"user-3"),
    ("ascii-user-0", b"user-0"),
    # The order of bytes matters.
    ("ascii-ab", b"ab"),
    ("ascii-ba", b"ba"),
    ("ascii-foobar", b"foobar"),
    ("ascii-with-nul", b"user\x001"),
    ("cyrillic", "заказ-1".encode()),
    ("cyrillic-yo", "ёжик".encode()),
    ("emoji", "🦉".encode()),
    ("emoji-sequence", "👩‍🔬".encode()),
    ("chinese", "订单".encode()),
    ("invalid-utf8", b"\xc3\x28\xff\xfe"),
    ("all-256-bytes", bytes(range(256))),
    ("all-256-bytes-reversed", bytes(range(255, -1, -1))),
    ("long-ascii-211", b"0123456789" * 21 + b"x"),
    ("long-high-bytes-200", b"\x80\xff" * 100),
]

# From RFC 3720, appendix B.4: an iSCSI read command.
ISCSI_READ = bytes.fromhex("01c00000" + "00000000" * 3 + "14000000000004000000001400000018"
                           "28000000000000000200000000000000")

DATA = [
    ("check", b"123456789"),
    ("empty", b""),
    ("byte-00", b"\x00"),
    ("byte-7f", b"\x7f"),
    ("byte-80", b"\x80"),
    ("byte-ff", b"\xff"),
    ("ascii-a", b"a"),
    ("rfc3720-zeros-32", bytes(32)),
    ("rfc3720-ones-32", b"\xff" * 32),
    ("rfc3720-incrementing-32", bytes(range(32))),
    ("rfc3720-decrementing-32", bytes(range(31, -1, -1))),
    ("rfc3720-iscsi-read", ISCSI_READ),
    ("cyrillic", "заказ-1".encode()),
    ("emoji", "🦉".encode()),
    ("all-256-bytes", bytes(range(256))),
    # Fast implementations change their loop at such lengths.
    *((f"counted-{length}", counted(length)) for length in (7, 8, 9, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025)),
]

# Published elsewhere; they keep a slip in this file from becoming the truth.
KNOWN_FNV1A = {"empty": 0x811C9DC5, "ascii-a": 0xE40C292C, "ascii-foobar": 0xBF9CF968}
KNOWN_CRC32C = {
    "check": 0xE3069283,
    "rfc3720-zeros-32": 0x8A9136AA,
    "rfc3720-ones-32": 0x62A8AB43,
    "rfc3720-incrementing-32": 0x46DD794E,
    "rfc3720-decrementing-32": 0x113FDB5C,
    "rfc3720-iscsi-read": 0xD9963A56,
}


def check_known(vectors, function, known):
    by_name = dict(vectors)
    assert len(by_name) == len(vectors), "vector names are unique"
    for name, expected in known.items():
        assert function(by_name[name]) == expected, f"{name}: {function(by_name[name]):08x}, published {expected:08x}"


def partitioner_rows():
    for name, key in KEYS:
        value = fnv1a_32(key)
        yield {"name": name, "key": key.hex(), "fnv1a": f"{value:08x}",
               **{f"p{count}": value % count for count in PARTITION_COUNTS}}


def crc32c_rows():
    for name, data in DATA:
        yield {"name": name, "data": data.hex(), "crc32c": f"{crc32c(data):08x}"}


def as_tsv(title, rows):
    lines = [f"# {title}", "\t".join(rows[0])]
    lines += ["\t".join(str(value) for value in row.values()) for row in rows]
    return "\n".join(lines) + "\n"


def as_json(title, rows):
    return json.dumps({"title": title, "vectors": rows}, indent=1, ensure_ascii=True) + "\n"


def files():
    check_known(KEYS, fnv1a_32, KNOWN_FNV1A)
    check_known(DATA, crc32c, KNOWN_CRC32C)
    partitioner = ("Partition for a key: FNV-1a 32, then an unsigned remainder by the partition count (pN). "
                   "Keys are hex.", list(partitioner_rows()))
    checksum = ("CRC-32C (Castagnoli) of a record's payload. Data is hex.", list(crc32c_rows()))
    return {
        "partitioner.tsv": as_tsv(*partitioner), "partitioner.json": as_json(*partitioner),
        "crc32c.tsv": as_tsv(*checksum), "crc32c.json": as_json(*checksum),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    here = pathlib.Path(__file__).resolve().parent
    stale = []
    for name, text in files().items():
        path = here / name
        if not arguments.check:
            path.write_bytes(text.encode())
        elif not path.is_file() or path.read_bytes() != text.encode():
            stale.append(name)
    if stale:
        sys.exit(f"not what generate.py makes: {', '.join(stale)}")


if __name__ == "__main__":
    main()
