"""Connection, Producer and Consumer for asyncio. They are made inside a running event loop and belong to it."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TypeVar, cast

from booblik.address import Address
from booblik.core_connection import ConnectionOptions, CoreConnection
from booblik.core_consumer import ConsumerOptions, CoreConsumer
from booblik.core_producer import CoreProducer, Delivered, ProducerOptions
from booblik.runtime_asyncio import Loop
from booblik.wire import Request

A = TypeVar("A")


class Connection(CoreConnection):
    def __init__(self, broker: str | Address, options: ConnectionOptions = ConnectionOptions()) -> None:
        super().__init__(Loop(), broker, options)

    async def send(self, request: Request[A], timeout: float | None = None) -> asyncio.Future[A]:
        """submit() with the type that it has here."""
        return cast("asyncio.Future[A]", await self.submit(request, timeout))

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Producer(CoreProducer):
    """`async with Producer(...)` opens it, and flushes and closes it behind."""

    def __init__(
        self,
        broker: str | Address,
        options: ProducerOptions | str,
        connection: ConnectionOptions = ConnectionOptions(),
    ) -> None:
        chosen = ProducerOptions(options) if isinstance(options, str) else options
        super().__init__(Loop(), Connection(broker, connection), chosen)

    async def send(
        self, payload: bytes, key: bytes | None = None, partition: int | None = None
    ) -> asyncio.Future[Delivered]:
        """As CoreProducer.send(). Waiting for the buffer is one await, waiting for the outcome is another: of what this returns."""
        return cast("asyncio.Future[Delivered]", await super().send(payload, key, partition))

    async def __aenter__(self) -> Producer:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Consumer(CoreConsumer):
    def __init__(
        self,
        broker: str | Address,
        options: ConsumerOptions | str,
        connection: ConnectionOptions = ConnectionOptions(),
    ) -> None:
        chosen = ConsumerOptions(options) if isinstance(options, str) else options
        super().__init__(Loop(), Connection(broker, connection), chosen)

    async def __aenter__(self) -> Consumer:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
