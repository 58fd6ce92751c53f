"""The world of threads: every await blocks the thread that runs it."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import Future
from typing import Any, AsyncContextManager, Awaitable, Callable, Coroutine, TypeVar

from booblik.address import Address
from booblik.runtime import Monitor, Stream, Task
from booblik.session import Reply

T = TypeVar("T")

RECEIVE_BYTES = 1 << 18


def finish(work: Awaitable[T]) -> T:
    """Runs a coroutine of this world, which never suspends."""
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("a coroutine of the world of threads has suspended")


class _SocketStream:
    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer

    async def send(self, data: bytes) -> None:
        try:
            self._peer.sendall(data)
        except BaseException:
            # Also when the user interrupts: half a frame may be out, and what follows would be read as the rest of it.
            self.stop()
            raise

    async def receive(self) -> bytes:
        return self._peer.recv(RECEIVE_BYTES)

    def stop(self) -> None:
        try:
            self._peer.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the peer was faster

    def release(self) -> None:
        self._peer.close()


class _ThreadMonitor:
    def __init__(self) -> None:
        self._condition = threading.Condition()

    def __enter__(self) -> _ThreadMonitor:
        self._condition.acquire()
        return self

    def __exit__(self, *_: Any) -> None:
        self._condition.release()

    async def wait(self, seconds: float | None) -> None:
        self._condition.wait(None if seconds is None else max(0.0, seconds))

    def notify_all(self) -> None:
        self._condition.notify_all()


class _ThreadLock:
    def __init__(self) -> None:
        self._lock = threading.Lock()

    async def __aenter__(self) -> None:
        self._lock.acquire()

    async def __aexit__(self, *_: Any) -> None:
        self._lock.release()


class _ThreadTask:
    def __init__(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._thread = threading.Thread(target=finish, args=(work,), name=name, daemon=True)
        self._thread.start()

    async def join(self) -> None:
        if self._thread is not threading.current_thread():
            self._thread.join()


class Threads:
    def now(self) -> float:
        return time.monotonic()

    def monitor(self) -> Monitor:
        return _ThreadMonitor()

    def lock(self) -> AsyncContextManager[Any]:
        return _ThreadLock()

    def reply(self) -> Reply:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # what is under way cannot be cancelled
        return future

    async def result(self, reply: Reply) -> Any:
        return reply.result()

    async def connect(self, address: Address, seconds: float) -> Stream:
        peer = socket.create_connection((address.host, address.port), timeout=seconds)
        peer.settimeout(None)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _SocketStream(peer)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> Task:
        return _ThreadTask(work, name)

    async def let_others_run(self) -> None:
        pass  # the system does

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return work()
