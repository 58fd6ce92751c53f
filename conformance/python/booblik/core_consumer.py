"""Reads one partition in order: the logic of both worlds."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import partial
from typing import AsyncIterator

from booblik.codes import ErrorCode
from booblik.core_connection import CoreConnection
from booblik.errors import BadAnswer, Closed, ConnectionLost, LogReset, OffsetOutOfRange, Refused, TimedOut, Unreachable
from booblik.positions import PositionStore
from booblik.records import Batch, batch_of
from booblik.runtime import Runtime
from booblik.wire import MAX_BYTES_MAX, Fetch, Metadata, PartitionInfo, within

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 2.0


class Start(enum.Enum):
    BEGINNING = "beginning"  # the oldest record that retention has left
    END = "end"  # what is produced from now on


@dataclass(frozen=True)
class ConsumerOptions:
    topic: str
    partition: int = 0
    start: Start | int = Start.BEGINNING  # or an offset
    store: PositionStore | None = None  # a position in it goes before `start`; commit() writes it
    max_bytes: int = 1 << 20  # of one FETCH
    hold: float = 30.0  # seconds that follow() lets the broker hold one FETCH; it asks again and again
    timeout: float = 10.0  # seconds for an answer, beyond the hold
    unreachable_after: float = 30.0  # seconds that replay() waits for a broker that cannot be reached; follow() waits for ever

    def __post_init__(self) -> None:
        within("partition", self.partition, 0, 2**31 - 1)
        within("max_bytes", self.max_bytes, 1, MAX_BYTES_MAX)
        within("hold", self.hold, 0.001, 60)  # the broker holds no request longer
        within("timeout", self.timeout, 0.001, 3600)
        within("unreachable_after", self.unreachable_after, 0, 86_400)
        if isinstance(self.start, int):
            within("start", self.start, 0, 2**63 - 1)


class CoreConsumer:
    """For one caller at a time; close() may come from anywhere. The position is always that of the first record that was
    not returned yet."""

    def __init__(self, runtime: Runtime, connection: CoreConnection, options: ConsumerOptions) -> None:
        self._runtime = runtime
        self._connection = connection  # its own: a held FETCH delays the answers behind it
        self._options = options
        self._changed = runtime.monitor()  # guards _closed
        self._closed = False
        self.max_bytes = options.max_bytes
        self.position: int | None = None  # not known before the first call that needs it

    async def locate(self) -> int:
        """The position; the first time it is that of the store, else the start that was asked for."""
        if self.position is None:
            store, start = self._options.store, self._options.start
            stored = None
            if store is not None:
                load = partial(store.load, self._options.topic, self._options.partition)
                stored = await self._runtime.run_blocking(load)
            if stored is not None:
                self.position = stored
            elif isinstance(start, int):
                self.position = start
            else:
                known = await self.partition_info()
                self.position = known.high_watermark if start is Start.END else known.log_start_offset
        return self.position

    async def partition_info(self) -> PartitionInfo:
        """Where the log begins and ends now."""
        topic = (await self._connection.call(Metadata([self._options.topic]), self._options.timeout))[0]
        if not 0 <= self._options.partition < len(topic.partitions):
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic.name}-{self._options.partition}")
        return topic.partitions[self._options.partition]

    async def poll(self, wait: float = 0.0) -> Batch:
        """The next records; none when there are none within `wait` seconds. After an error the position is unchanged, and another call
        asks again: over a new connection when the old one is lost. Raises LogReset, OffsetOutOfRange, RecordExceedsMaxBytes,
        CorruptRecord, Refused, and what goes wrong with a connection."""
        within("wait", wait, 0, 60)
        position = await self.locate()
        fetch = Fetch(self._options.topic, self._options.partition, position, self.max_bytes, round(wait * 1000))
        try:
            fetched = await self._connection.call(fetch, wait + self._options.timeout)
        except Refused as refused:
            if refused.code is not ErrorCode.OFFSET_OUT_OF_RANGE:
                raise
            raise await self._why_out_of_range(position) from refused
        batch = batch_of(fetched, position, self.max_bytes)
        self.position = batch.next_offset
        return batch

    async def _why_out_of_range(self, position: int) -> OffsetOutOfRange:
        known = await self.partition_info()
        kind = LogReset if position > known.high_watermark else OffsetOutOfRange
        return kind(position, known.log_start_offset, known.high_watermark)

    async def follow(self) -> AsyncIterator[Batch]:
        """Batches for ever, none of them empty. A lost connection is opened again; close() ends it."""
        while (batch := await self._patiently(self._options.hold, None)) is not None:
            if batch.records:
                yield batch

    async def replay(self) -> AsyncIterator[Batch]:
        """Batches up to the high watermark at the time of the call."""
        end: int | None = None
        while end is None or await self.locate() < end:
            batch = await self._patiently(0.0, self._options.unreachable_after)
            if batch is None:
                return
            end = batch.high_watermark if end is None else end
            surplus = max(0, batch.next_offset - end)  # produced since
            if surplus:
                batch = Batch(batch.records[: len(batch) - surplus], end, batch.high_watermark)
                self.position = end
            if not batch.records and batch.next_offset < end:
                raise BadAnswer(f"no records at {batch.next_offset}, although the log ends at {end}")
            if batch.records:
                yield batch

    async def _patiently(self, wait: float, give_up_after: float | None) -> Batch | None:
        """poll(), again after a lost connection: a FETCH changes nothing. None when the consumer is closed."""
        begin, pause = self._runtime.now(), FIRST_PAUSE_SECONDS
        while True:
            try:
                return await self.poll(wait)
            except Closed:
                return None
            except (ConnectionLost, TimedOut, Unreachable):
                if give_up_after is not None and self._runtime.now() + pause > begin + give_up_after:
                    raise
            with self._changed:
                if not self._closed:
                    await self._changed.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def seek(self, offset: int) -> None:
        within("offset", offset, 0, 2**63 - 1)
        self.position = offset

    async def commit(self) -> None:
        """Writes the position to the store: every record returned so far counts as done."""
        store, position = self._options.store, await self.locate()
        if store is None:
            raise ValueError("this consumer has no position store")
        save = partial(store.save, self._options.topic, self._options.partition, position)
        await self._runtime.run_blocking(save)

    async def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        await self._connection.close()
