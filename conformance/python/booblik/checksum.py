"""CRC-32C, by whichever module of the system computes it fast, else by a table.

The table takes about 60 ns a byte: install `google-crc32c` or `crc32c` to consume more than a few MB/s.
"""

from __future__ import annotations

import importlib
from typing import Callable


def _table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return tuple(table)


_TABLE = _table()


def crc32c_by_table(data: bytes) -> int:
    table = _TABLE
    value = 0xFFFFFFFF
    for byte in data:
        value = table[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def _fastest() -> tuple[str, Callable[[bytes], int]]:
    # A module that is there but does not compute CRC-32C is passed over: the check value is that of the protocol.
    for module, function in (("google_crc32c", "value"), ("crc32c", "crc32c")):
        try:
            candidate: Callable[[bytes], int] = getattr(importlib.import_module(module), function)
            if candidate(b"123456789") == 0xE3069283:
                return module, candidate
        except (ImportError, AttributeError, RuntimeError):
            continue
    return "table", crc32c_by_table


IMPLEMENTATION, crc32c = _fastest()
