"""One connection without its socket: what is to be sent, and what the received bytes answer. No input or output."""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass
from typing import Any, Protocol

from booblik.codes import ErrorCode
from booblik.errors import BadAnswer, BooblikError, ConnectionLost, Refused, TimedOut
from booblik.wire import FRAME_LENGTH_MAX, RESPONSE_HEADER_BYTES, Reader, Request, decode_header, encode_request


class Reply(Protocol):
    """What a request's outcome is told to. The futures of threads and of asyncio both fit."""

    def done(self) -> bool: ...

    def cancelled(self) -> bool: ...

    def result(self) -> Any: ...

    def exception(self) -> BaseException | None: ...

    def set_result(self, result: Any, /) -> None: ...

    def set_exception(self, exception: Any, /) -> None: ...

    def add_done_callback(self, callback: Any, /) -> Any: ...


@dataclass(frozen=True)
class Outcome:
    """Told by deliver(), which runs the callbacks of the reply: call it with no lock held."""

    reply: Reply
    value: Any

    def deliver(self) -> None:
        if self.reply.done():  # the caller has cancelled it
            return
        if isinstance(self.value, BaseException):
            self.reply.set_exception(self.value)
            if not self.reply.cancelled():
                self.reply.exception()  # keeps asyncio from a complaint about futures that nobody looked at
        else:
            self.reply.set_result(self.value)


@dataclass(frozen=True)
class _Waiting:
    request: Request[Any]
    correlation_id: int
    deadline: float
    reply: Reply


class Session:
    """Answers come in the order of the requests. Anything else is a violation, and nothing that comes behind one is believed."""

    def __init__(self) -> None:
        self.violation: BadAnswer | None = None
        self._waiting: deque[_Waiting] = deque()
        self._received = bytearray()
        self._last_id = 0

    @property
    def unanswered(self) -> int:
        return len(self._waiting)

    def submit(self, request: Request[Any], reply: Reply, deadline: float) -> bytes:
        """The bytes to send. Raises ValueError, with nothing changed, for a request that cannot be sent."""
        correlation_id = self._last_id % 0x7FFFFFFF + 1
        data = encode_request(request, correlation_id)
        self._last_id = correlation_id
        if request.answered:
            self._waiting.append(_Waiting(request, correlation_id, deadline, reply))
        return data

    def receive(self, data: bytes) -> list[Outcome]:
        """What the bytes have completed. Afterwards `violation` says whether there is more to come."""
        self._received += data
        outcomes: list[Outcome] = []
        try:
            at = 0
            while (frame := self._next_frame(at)) is not None:
                outcomes.append(self._answer(frame))
                at += 4 + len(frame)
            del self._received[:at]
        except BadAnswer as violation:
            self.violation = violation
        return outcomes

    def _next_frame(self, at: int) -> bytes | None:
        if len(self._received) - at < 4:
            return None
        length: int = struct.unpack_from(">i", self._received, at)[0]
        if not RESPONSE_HEADER_BYTES <= length <= FRAME_LENGTH_MAX:
            raise BadAnswer(f"an answer announces {length} bytes, allowed are {RESPONSE_HEADER_BYTES} to {FRAME_LENGTH_MAX}")
        if len(self._received) - at - 4 < length:
            return None
        return bytes(self._received[at + 4 : at + 4 + length])

    def _answer(self, frame: bytes) -> Outcome:
        correlation_id, code = decode_header(frame)
        if not self._waiting:
            raise BadAnswer(f"an answer to {correlation_id} where nothing was asked")
        waiting = self._waiting[0]
        if correlation_id != waiting.correlation_id:
            raise BadAnswer(f"an answer to {correlation_id} where that to {waiting.correlation_id} is due")
        what = waiting.request.describe()
        value: Any
        if code is ErrorCode.NONE:
            reader = Reader(frame[RESPONSE_HEADER_BYTES:], what)
            value = waiting.request.read(reader)
            reader.finish()
        else:
            value = Refused(code, what)
        self._waiting.popleft()
        return Outcome(waiting.reply, value)

    def next_deadline(self) -> float | None:
        return min((one.deadline for one in self._waiting), default=None)

    def abandon(self, error: BooblikError, now: float) -> list[Outcome]:
        """Ends every request that waits. When the first one's time is over, the others are merely lost with it."""
        outcomes = []
        for one in self._waiting:
            what = one.request.describe()
            why: BooblikError
            if not isinstance(error, TimedOut):
                why = type(error)(f"{what}: {error}")
            elif one.deadline <= now:
                why = TimedOut(f"{what} was not answered in time")
            else:
                why = ConnectionLost(f"{what}: the connection was given up, another request was not answered in time")
            outcomes.append(Outcome(one.reply, why))
        self._waiting.clear()
        return outcomes
