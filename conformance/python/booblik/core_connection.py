"""A pipelined connection that opens itself again: the logic of both worlds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence, TypeVar, cast

from booblik.address import Address, address_of
from booblik.codes import Ack
from booblik.errors import BooblikError, Closed, ConnectionLost, TimedOut, Unreachable
from booblik.runtime import Runtime, Stream, Task
from booblik.session import Outcome, Reply, Session
from booblik.wire import Fetch, Fetched, Metadata, Produce, Produced, Request, TopicInfo, within

A = TypeVar("A")


@dataclass(frozen=True)
class ConnectionOptions:
    timeout: float = 10.0  # seconds for an answer, unless a call says otherwise
    connect_timeout: float = 5.0
    in_flight_max: int = 1000  # requests that wait for their answer; sending waits beyond it

    def __post_init__(self) -> None:
        within("timeout", self.timeout, 0.001, 3600)
        within("connect_timeout", self.connect_timeout, 0.001, 3600)
        within("in_flight_max", self.in_flight_max, 1, 1_000_000)


class _Link:
    """One TCP connection, from its opening to its break."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.session = Session()
        self.error: BooblikError | None = None  # why it broke; it never mends
        self.watched_until: float | None = None
        self.tasks: list[Task] = []


class CoreConnection:
    """Any number of callers may send at a time; answers are matched in the order of the requests. When the connection breaks,
    every request that waits for its answer fails, and the next request opens a new one. Nothing is ever sent twice."""

    def __init__(self, runtime: Runtime, broker: str | Address, options: ConnectionOptions) -> None:
        self.address = address_of(broker)
        self.links_opened = 0
        self._runtime = runtime
        self._options = options
        self._sending = runtime.lock()  # who holds it sends: the order of ids is that of the bytes
        self._changed = runtime.monitor()  # guards everything below, and the link's state
        self._waits_for_slot = False
        self._link: _Link | None = None
        self._closed = False

    @property
    def is_open(self) -> bool:
        """False before the first request, and from a break to the next request."""
        link = self._link
        return link is not None and link.error is None

    async def submit(self, request: Request[A], timeout: float | None = None) -> Reply:
        """Sends, and returns what the outcome will be told to: the answer, None for a request that has none once it is
        handed to the system, or a BooblikError. Raises Unreachable or Closed when nothing was sent."""
        reply = self._runtime.reply()
        async with self._sending:
            link, data = await self._enqueue(request, reply, self._options.timeout if timeout is None else timeout)
            try:
                await link.stream.send(data)
            except OSError as error:
                lost = ConnectionLost(f"sending failed: {error}")
                self._break(link, lost)
                if not request.answered:
                    Outcome(reply, lost).deliver()
                return reply
            if not request.answered:
                lost_meanwhile = link.error
                Outcome(reply, lost_meanwhile).deliver()
        return reply

    async def call(self, request: Request[A], timeout: float | None = None) -> A:
        """Sends and waits for the answer."""
        return cast(A, await self._runtime.result(await self.submit(request, timeout)))

    async def produce(
        self, topic: str, partition: int, payloads: Sequence[bytes], ack: Ack = Ack.WRITTEN
    ) -> Produced | None:
        """One batch. None with Ack.NONE, as soon as the system has it."""
        return await self.call(Produce(topic, partition, payloads, ack))

    async def fetch(self, topic: str, partition: int, offset: int, max_bytes: int = 1 << 20) -> Fetched:
        """Stored bytes as they come; records.batch_of() takes them apart. A Consumer does both."""
        return await self.call(Fetch(topic, partition, offset, max_bytes))

    async def metadata(self, *topics: str) -> tuple[TopicInfo, ...]:
        """Of all topics when none is named."""
        return await self.call(Metadata(topics))

    async def close(self) -> None:
        """What waits for its answer fails with Closed."""
        with self._changed:
            self._closed = True
            link = self._link
        if link is not None:
            self._break(link, Closed("the connection was closed by its user"))
            for task in link.tasks:
                await task.join()

    async def _enqueue(self, request: Request[A], reply: Reply, timeout: float) -> tuple[_Link, bytes]:
        while True:
            link = await self._open_link()
            with self._changed:
                self._waits_for_slot = True
                while link.error is None and link.session.unanswered >= self._options.in_flight_max:
                    await self._changed.wait(None)  # an answer or a deadline ends it
                self._waits_for_slot = False
                if link.error is not None:
                    continue  # nothing of this request was sent yet
                deadline = self._runtime.now() + timeout
                data = link.session.submit(request, reply, deadline)
                if link.watched_until is None or deadline < link.watched_until:
                    self._changed.notify_all()
                return link, data

    async def _open_link(self) -> _Link:
        with self._changed:
            if self._closed:
                raise Closed("the connection is closed")
            if self._link is not None and self._link.error is None:
                return self._link
        try:
            stream = await self._runtime.connect(self.address, self._options.connect_timeout)
        except OSError as error:
            raise Unreachable(f"{self.address}: {error}") from error
        link = _Link(stream)
        with self._changed:
            closed_meanwhile = self._closed
            if not closed_meanwhile:
                self._link = link
                self.links_opened += 1
        if closed_meanwhile:
            stream.stop()
            stream.release()
            raise Closed("the connection is closed")
        link.tasks = [
            self._runtime.spawn(self._read(link), f"booblik answers of {self.address}"),
            self._runtime.spawn(self._watch(link), f"booblik deadlines of {self.address}"),
        ]
        return link

    async def _read(self, link: _Link) -> None:
        error: BooblikError = ConnectionLost("it ended unexpectedly")
        try:
            while True:
                data = await link.stream.receive()
                if not data:
                    error = ConnectionLost("the broker closed the connection")
                    break
                with self._changed:
                    outcomes = link.session.receive(data)
                    if self._waits_for_slot:
                        self._changed.notify_all()
                for outcome in outcomes:
                    outcome.deliver()
                if link.session.violation is not None:
                    error = link.session.violation
                    break
        except OSError as broken:
            error = ConnectionLost(f"the connection broke: {broken}")
        finally:
            self._break(link, error)
            link.stream.release()

    async def _watch(self, link: _Link) -> None:
        """Breaks the link when a deadline passes."""
        with self._changed:
            while link.error is None:
                deadline = link.session.next_deadline()
                left = None if deadline is None else deadline - self._runtime.now()
                if left is not None and left <= 0:
                    break
                link.watched_until = deadline
                await self._changed.wait(left)
        self._break(link, TimedOut("no answer in time"))

    def _break(self, link: _Link, error: BooblikError) -> None:
        with self._changed:
            if link.error is not None:
                return
            link.error = error
            outcomes: list[Any] = link.session.abandon(error, self._runtime.now())
            self._changed.notify_all()
        link.stream.stop()
        for outcome in outcomes:
            outcome.deliver()
