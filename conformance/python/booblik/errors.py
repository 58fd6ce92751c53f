"""What can go wrong, by what a caller may do about it. Everything here is a BooblikError."""

from __future__ import annotations

from booblik.codes import ErrorCode


class BooblikError(Exception):
    pass


class Unreachable(BooblikError):
    """No connection could be made. Nothing of the request was sent."""


class ConnectionLost(BooblikError):
    """The connection broke, or the broker closed it, ahead of the answer."""


class TimedOut(BooblikError):
    """No answer in time. The connection is given up with it: answers have no other order than that of the requests."""


class BadAnswer(BooblikError):
    """The broker sent what the protocol does not allow. The connection is given up."""


class Closed(BooblikError):
    """The caller has closed what he uses."""


class Refused(BooblikError):
    """The broker answered with an error code: it has done nothing."""

    def __init__(self, code: ErrorCode, what: str) -> None:
        super().__init__(f"{what}: {code.name}")
        self.code = code


class OutcomeUnknown(BooblikError):
    """The record was sent, but its answer did not come: it may be stored or not. `__cause__` says why."""


class NotSent(BooblikError):
    """The record was never sent, so it is not stored. `__cause__` says why."""


class DeliveryFailed(BooblikError):
    """Of flush() and close(): records sent since the last flush were not delivered. `first` is the first failure."""

    def __init__(self, failed: int, first: BooblikError) -> None:
        super().__init__(f"{failed} records were not delivered, the first because of: {first}")
        self.failed = failed
        self.first = first


class OffsetOutOfRange(BooblikError):
    """The records at the position are gone: retention took them. The oldest that is left is `log_start`."""

    def __init__(self, position: int, log_start: int, high_watermark: int) -> None:
        super().__init__(f"offset {position} is outside the log, which has {log_start} to {high_watermark}")
        self.position, self.log_start, self.high_watermark = position, log_start, high_watermark


class LogReset(OffsetOutOfRange):
    """The log ends below the position: it was replaced by another one, or lost its end. A log that was reset and has grown
    past the position since cannot be told from one that was not."""


class RecordExceedsMaxBytes(BooblikError):
    """The next record is larger than max_bytes: no retry can ever bring it. `record_bytes` is its payload size, None when
    not even that fitted."""

    def __init__(self, offset: int, record_bytes: int | None, max_bytes: int) -> None:
        size = "unknown" if record_bytes is None else f"{record_bytes} bytes"
        super().__init__(f"the record at {offset} (payload {size}) does not fit into max_bytes {max_bytes}")
        self.offset, self.record_bytes, self.max_bytes = offset, record_bytes, max_bytes


class CorruptRecord(BooblikError):
    """What is stored at `offset` is not what was produced."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(f"the record at {offset} is corrupt: {why}")
        self.offset = offset


class PositionsDamaged(BooblikError):
    """The file of stored positions does not say what was written to it."""
