"""Which partition a key belongs to. All clients agree on it: FNV-1a of 32 bits, then an unsigned remainder."""

from __future__ import annotations


def fnv1a(key: bytes) -> int:
    value = 0x811C9DC5
    for byte in key:  # 0 to 255: bytes are unsigned in Python
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def partition_for_key(key: bytes, partition_count: int) -> int:
    return fnv1a(key) % partition_count
