"""Sends records in batches and tells the outcome of each: the logic of both worlds."""

from __future__ import annotations

import itertools
import logging
from dataclasses import dataclass, replace
from typing import Callable

from booblik.accumulator import Accumulator, Batch
from booblik.codes import Ack
from booblik.core_connection import CoreConnection
from booblik.errors import BooblikError, Closed, ConnectionLost, DeliveryFailed, NotSent, OutcomeUnknown, Refused, Unreachable
from booblik.partitioner import partition_for_key
from booblik.runtime import Runtime, Task
from booblik.session import Outcome, Reply
from booblik.wire import Metadata, Produce, Produced, encode_request, within

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 1.0


@dataclass(frozen=True)
class Delivered:
    """`offset` is None with Ack.NONE: the record was handed to the system, and nobody says more."""

    partition: int
    offset: int | None


@dataclass(frozen=True)
class Counts:
    """Of records, since the producer began."""

    delivered: int = 0
    refused: int = 0  # the broker said no
    unknown: int = 0  # sent, but the answer did not come
    not_sent: int = 0


@dataclass(frozen=True)
class FailedBatch:
    """Records that share one fate."""

    partition: int
    payloads: tuple[bytes, ...]
    error: BooblikError  # Refused, OutcomeUnknown or NotSent


@dataclass(frozen=True)
class ProducerOptions:
    topic: str
    ack: Ack = Ack.WRITTEN
    batch_bytes: int = 64 * 1024  # a batch is full with so many bytes
    batch_records: int = 10_000  # or so many records
    linger: float = 0.005  # seconds that a batch waits to become full
    buffer_bytes: int = 32 << 20  # of records whose outcome is not known; send waits beyond it
    in_flight_max: int = 8  # requests that wait for their answer
    unreachable_after: float = 30.0  # age in seconds at which a batch waits no longer for a broker that cannot be reached
    on_failure: Callable[[FailedBatch], None] | None = None  # in whatever thread learns of it; must not wait

    def __post_init__(self) -> None:
        # With 4 bytes beside each payload, the largest batch still fits a frame of 8 MiB.
        within("batch_bytes", self.batch_bytes, 1, 4 << 20)
        within("batch_records", self.batch_records, 1, 100_000)
        within("linger", self.linger, 0, 3600)
        within("buffer_bytes", self.buffer_bytes, 1, 1 << 40)
        within("in_flight_max", self.in_flight_max, 1, 10_000)
        within("unreachable_after", self.unreachable_after, 0, 86_400)


class CoreProducer:
    """The order of one partition's records is the order of their send(). Nothing is sent twice: a batch that could not be sent at all
    waits for a connection, one whose answer did not come is OutcomeUnknown."""

    def __init__(self, runtime: Runtime, connection: CoreConnection, options: ProducerOptions) -> None:
        self._runtime = runtime
        self._connection = connection
        self._options = options
        self._accumulator = Accumulator(
            batch_bytes=options.batch_bytes,
            batch_records=options.batch_records,
            linger=options.linger,
            buffer_bytes=options.buffer_bytes,
        )
        self._changed = runtime.monitor()  # guards everything below
        self._round_robin = itertools.count()
        self._request_overhead = len(encode_request(Produce(options.topic, 0, [b"x"]), 1)) - 5
        self._in_flight = 0
        self._counts = Counts()
        self._failed_since_flush = 0
        self._first_failure: BooblikError | None = None
        self._link_of_silent: int | None = None  # the link that took records without an answer since the last flush
        self._closing = False
        self._sender: Task | None = None
        self.partition_count = 0

    async def open(self) -> None:
        """Asks for the partitions. Raises what a METADATA can, and is closed then."""
        try:
            topic = (await self._connection.call(Metadata([self._options.topic])))[0]
        except BaseException:
            await self._connection.close()
            raise
        self.partition_count = len(topic.partitions)
        self._sender = self._runtime.spawn(self._send_batches(), f"booblik producer of {topic.name}")

    @property
    def counts(self) -> Counts:
        return self._counts

    async def send(self, payload: bytes, key: bytes | None = None, partition: int | None = None) -> Reply:
        """Returns what the outcome will be told to: Delivered, or Refused, OutcomeUnknown, NotSent. The partition is the one given,
        that of the key, or the next in turn. Waits while the buffer is full."""
        self._check(payload, key, partition)
        if partition is None:
            turn = next(self._round_robin) % self.partition_count if key is None else 0
            partition = turn if key is None else partition_for_key(key, self.partition_count)
        reply = self._runtime.reply()
        with self._changed:
            while not self._accumulator.has_room(payload) and not self._closing:
                self._accumulator.seal()  # nothing more can come to fill what waits
                self._changed.notify_all()
                await self._changed.wait(None)  # an outcome ends it
            if self._closing:
                raise Closed("the producer is closed")
            news = self._accumulator.add(partition, payload, reply, self._runtime.now())
            if news:
                self._changed.notify_all()
        if news:
            await self._runtime.let_others_run()
        return reply

    def _check(self, payload: bytes, key: bytes | None, partition: int | None) -> None:
        if self._sender is None:
            raise Closed("the producer is not open")
        if not payload:
            raise ValueError("an empty record cannot be stored")
        if len(payload) > 8_388_608 - self._request_overhead:
            raise ValueError(f"a record of {len(payload)} bytes fits no request")
        if key is not None and partition is not None:
            raise ValueError("a key decides the partition: give one of them")
        if partition is not None and not 0 <= partition < self.partition_count:
            raise ValueError(f"{self._options.topic} has partitions 0 to {self.partition_count - 1}, not {partition}")

    async def flush(self) -> None:
        """Returns when the outcome of every record sent before is known; with Ack.NONE, when the broker has taken them.
        Raises DeliveryFailed when one since the last flush was not delivered."""
        with self._changed:
            last = self._accumulator.seal()
            self._changed.notify_all()
            while not self._accumulator.settled_up_to(last):
                await self._changed.wait(None)  # every batch has its outcome within its time limits
            silent, self._link_of_silent = self._link_of_silent, None
        if silent is not None:
            await self._fence(silent)
        with self._changed:
            failed, first = self._failed_since_flush, self._first_failure
            self._failed_since_flush, self._first_failure = 0, None
        if first is not None:
            raise DeliveryFailed(failed, first)

    async def close(self) -> None:
        """Flushes, then ends. Raises DeliveryFailed as flush() does, when everything is closed."""
        try:
            if self._sender is not None:
                await self.flush()
        finally:
            with self._changed:
                self._closing = True
                self._accumulator.seal()
                self._changed.notify_all()
            if self._sender is not None:
                await self._sender.join()
            await self._connection.close()

    async def _fence(self, link: int) -> None:
        """A METADATA behind the records that nobody answers: its answer shows that they were taken."""
        error: BooblikError | None = None
        try:
            await self._connection.call(Metadata([self._options.topic]))
        except BooblikError as failure:
            error = failure
        if error is None and self._connection.links_opened != link:
            error = ConnectionLost("the connection broke behind records that have no answer")
        if error is not None:
            with self._changed:
                self._first_failure = self._first_failure or OutcomeUnknown(str(error))
                self._failed_since_flush += 1

    async def _send_batches(self) -> None:
        while (batch := await self._next_batch()) is not None:
            try:
                reply = await self._submit(batch)
            except Exception as error:  # whatever it is, nothing was sent, and its records are waited for
                self._settle(batch, _caused(NotSent(f"not sent: {error}"), error))
            else:
                reply.add_done_callback(lambda done, batch=batch: self._answered(batch, done))

    async def _next_batch(self) -> Batch | None:
        with self._changed:
            while True:
                pause = None
                if self._in_flight < self._options.in_flight_max:
                    now = self._runtime.now()
                    batch = self._accumulator.take_due(now)
                    if batch is not None:
                        self._in_flight += 1
                        return batch
                    pause = self._accumulator.seconds_to_next(now)
                    if self._closing and pause is None:
                        return None
                await self._changed.wait(pause)

    async def _submit(self, batch: Batch) -> Reply:
        """Waits for a broker that cannot be reached. Nothing overtakes the batch meanwhile."""
        request = Produce(self._options.topic, batch.partition, batch.payloads, self._options.ack)
        give_up_at = batch.born_at + self._options.unreachable_after
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                return await self._connection.submit(request)
            except Unreachable:
                if self._runtime.now() + pause >= give_up_at:
                    raise
            with self._changed:
                await self._changed.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _answered(self, batch: Batch, reply: Reply) -> None:
        error = reply.exception()
        if error is None:
            self._settle(batch, reply.result())
        elif isinstance(error, Refused):
            self._settle(batch, error)
        else:
            self._settle(batch, _caused(OutcomeUnknown(f"the outcome is unknown: {error}"), error))

    def _settle(self, batch: Batch, outcome: Produced | BooblikError | None) -> None:
        failure = outcome if isinstance(outcome, BooblikError) else None
        if isinstance(outcome, BooblikError):
            for reply in batch.replies:
                Outcome(reply, outcome).deliver()
            self._tell_failure(FailedBatch(batch.partition, tuple(batch.payloads), outcome))
        else:
            base = None if outcome is None else outcome.base_offset
            for index, reply in enumerate(batch.replies):
                Outcome(reply, Delivered(batch.partition, None if base is None else base + index)).deliver()
        with self._changed:
            self._count(len(batch.payloads), failure)
            if failure is None and self._options.ack is Ack.NONE:
                self._link_of_silent = self._link_of_silent or self._connection.links_opened
            self._accumulator.release(batch)
            self._in_flight -= 1
            self._changed.notify_all()

    def _tell_failure(self, failed: FailedBatch) -> None:
        if self._options.on_failure is not None:
            try:
                self._options.on_failure(failed)
            except Exception:  # of the user's: it must not end the sender, which others wait for
                logging.getLogger("booblik").exception("on_failure has raised an exception")

    def _count(self, records: int, failure: BooblikError | None) -> None:
        if failure is None:
            kind = "delivered"
        else:
            kind = {Refused: "refused", OutcomeUnknown: "unknown"}.get(type(failure), "not_sent")
            self._failed_since_flush += records
            self._first_failure = self._first_failure or failure
        self._counts = replace(self._counts, **{kind: getattr(self._counts, kind) + records})


def _caused(error: BooblikError, cause: BaseException) -> BooblikError:
    error.__cause__ = cause
    return error
