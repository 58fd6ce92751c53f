"""Connection, Producer and Consumer for threads: each call returns when it is done, any thread may make it."""

from __future__ import annotations

from concurrent.futures import Future
from typing import AsyncIterator, Iterator, Sequence, TypeVar, cast

from booblik.address import Address
from booblik.codes import Ack
from booblik.core_connection import ConnectionOptions, CoreConnection
from booblik.core_consumer import ConsumerOptions, CoreConsumer
from booblik.core_producer import Counts, CoreProducer, Delivered, ProducerOptions
from booblik.records import Batch
from booblik.runtime_threads import Threads, finish
from booblik.wire import Fetched, PartitionInfo, Produced, Request, TopicInfo

A = TypeVar("A")


def _blocking_iterator(steps: AsyncIterator[A]) -> Iterator[A]:
    while True:
        try:
            step = finish(steps.__anext__())
        except StopAsyncIteration:
            return
        yield step


class Connection:
    """As CoreConnection, whose comments hold here too."""

    def __init__(self, broker: str | Address, options: ConnectionOptions = ConnectionOptions()) -> None:
        self._core = CoreConnection(Threads(), broker, options)

    @property
    def is_open(self) -> bool:
        return self._core.is_open

    def send(self, request: Request[A], timeout: float | None = None) -> Future[A]:
        return cast("Future[A]", finish(self._core.submit(request, timeout)))

    def call(self, request: Request[A], timeout: float | None = None) -> A:
        return finish(self._core.call(request, timeout))

    def produce(self, topic: str, partition: int, payloads: Sequence[bytes], ack: Ack = Ack.WRITTEN) -> Produced | None:
        return finish(self._core.produce(topic, partition, payloads, ack))

    def fetch(self, topic: str, partition: int, offset: int, max_bytes: int = 1 << 20) -> Fetched:
        return finish(self._core.fetch(topic, partition, offset, max_bytes))

    def metadata(self, *topics: str) -> tuple[TopicInfo, ...]:
        return finish(self._core.metadata(*topics))

    def close(self) -> None:
        finish(self._core.close())

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Producer:
    """As CoreProducer, whose comments hold here too. Opened when it is made; `with` flushes and closes it."""

    def __init__(
        self,
        broker: str | Address,
        options: ProducerOptions | str,
        connection: ConnectionOptions = ConnectionOptions(),
    ) -> None:
        chosen = ProducerOptions(options) if isinstance(options, str) else options
        self._core = CoreProducer(Threads(), CoreConnection(Threads(), broker, connection), chosen)
        finish(self._core.open())

    @property
    def partition_count(self) -> int:
        return self._core.partition_count

    @property
    def counts(self) -> Counts:
        return self._core.counts

    def send(self, payload: bytes, key: bytes | None = None, partition: int | None = None) -> Future[Delivered]:
        return cast("Future[Delivered]", finish(self._core.send(payload, key, partition)))

    def flush(self) -> None:
        finish(self._core.flush())

    def close(self) -> None:
        finish(self._core.close())

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Consumer:
    """As CoreConsumer, whose comments hold here too."""

    def __init__(
        self,
        broker: str | Address,
        options: ConsumerOptions | str,
        connection: ConnectionOptions = ConnectionOptions(),
    ) -> None:
        chosen = ConsumerOptions(options) if isinstance(options, str) else options
        self._core = CoreConsumer(Threads(), CoreConnection(Threads(), broker, connection), chosen)

    @property
    def position(self) -> int | None:
        return self._core.position

    @property
    def max_bytes(self) -> int:
        return self._core.max_bytes

    @max_bytes.setter
    def max_bytes(self, value: int) -> None:
        self._core.max_bytes = value

    def locate(self) -> int:
        return finish(self._core.locate())

    def partition_info(self) -> PartitionInfo:
        return finish(self._core.partition_info())

    def poll(self, wait: float = 0.0) -> Batch:
        return finish(self._core.poll(wait))

    def follow(self) -> Iterator[Batch]:
        return _blocking_iterator(self._core.follow())

    def replay(self) -> Iterator[Batch]:
        return _blocking_iterator(self._core.replay())

    def seek(self, offset: int) -> None:
        self._core.seek(offset)

    def commit(self) -> None:
        finish(self._core.commit())

    def close(self) -> None:
        finish(self._core.close())

    def __enter__(self) -> Consumer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
