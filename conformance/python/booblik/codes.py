"""The numbers of the protocol that callers see."""

from __future__ import annotations

import enum


class ErrorCode(enum.IntEnum):
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 1
    OFFSET_OUT_OF_RANGE = 2
    RECORD_TOO_LARGE = 3
    UNSUPPORTED_VERSION = 4
    CORRUPT_REQUEST = 5


class Ack(enum.IntEnum):
    """When a PRODUCE is answered."""

    NONE = 0  # never
    WRITTEN = 1  # the records are in the file: they survive the process
    FORCED = 2  # a barrier covers them: they survive loss of power
