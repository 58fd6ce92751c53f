"""The world of asyncio. Everything belongs to one event loop, so state needs no lock: nothing runs between two awaits."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any, AsyncContextManager, Callable, Coroutine, TypeVar

from booblik.address import Address
from booblik.runtime import Monitor, Stream, Task
from booblik.session import Reply

T = TypeVar("T")

RECEIVE_BYTES = 1 << 18


class _LoopStream:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)  # takes all of it: a caller that is cancelled below leaves no half frame
        await self._writer.drain()

    async def receive(self) -> bytes:
        return await self._reader.read(RECEIVE_BYTES)

    def stop(self) -> None:
        self._writer.transport.abort()

    def release(self) -> None:
        self._writer.close()


class _LoopMonitor:
    def __init__(self) -> None:
        self._parked: set[asyncio.Future[None]] = set()

    def __enter__(self) -> _LoopMonitor:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    async def wait(self, seconds: float | None) -> None:
        loop = asyncio.get_running_loop()
        parked = loop.create_future()
        timer = None if seconds is None else loop.call_later(max(0.0, seconds), self._wake, parked)
        self._parked.add(parked)
        try:
            await parked
        finally:
            self._parked.discard(parked)
            if timer is not None:
                timer.cancel()

    def notify_all(self) -> None:
        for parked in self._parked:
            self._wake(parked)

    @staticmethod
    def _wake(parked: asyncio.Future[None]) -> None:
        if not parked.done():
            parked.set_result(None)


class _LoopTask:
    def __init__(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._task = asyncio.create_task(work, name=name)

    async def join(self) -> None:
        if self._task is not asyncio.current_task():
            await asyncio.wait([self._task])


class Loop:
    def now(self) -> float:
        return time.monotonic()

    def monitor(self) -> Monitor:
        return _LoopMonitor()

    def lock(self) -> AsyncContextManager[Any]:
        return asyncio.Lock()

    def reply(self) -> Reply:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        return future

    async def result(self, reply: Reply) -> Any:
        assert isinstance(reply, asyncio.Future)
        return await reply

    async def connect(self, address: Address, seconds: float) -> Stream:
        try:
            async with asyncio.timeout(seconds):
                reader, writer = await asyncio.open_connection(address.host, address.port)
        except TimeoutError as error:
            raise OSError(f"no connection within {seconds:g} s") from error
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _LoopStream(reader, writer)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> Task:
        return _LoopTask(work, name)

    async def let_others_run(self) -> None:
        await asyncio.sleep(0)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)
