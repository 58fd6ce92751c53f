"""What connections, producers and consumers need of the world. Two worlds offer it: threads and asyncio.

Their logic is written once, as coroutines. With asyncio they park as coroutines do; with threads every await below blocks
its thread and returns, so that such a coroutine never suspends and a plain call can run it to its end.
"""

from __future__ import annotations

from typing import Any, AsyncContextManager, Callable, Coroutine, Protocol, TypeVar

from booblik.address import Address
from booblik.session import Reply

T = TypeVar("T")


class Stream(Protocol):
    """A TCP connection. Failures are OSError."""

    async def send(self, data: bytes) -> None: ...

    async def receive(self) -> bytes:
        """Waits for a byte; empty at the end."""
        ...

    def stop(self) -> None:
        """Ends it for both sides; who sends or receives notices."""
        ...

    def release(self) -> None:
        """By the last one that uses it."""
        ...


class Monitor(Protocol):
    """Guards state: `with monitor:`. wait() is called inside, lets others in meanwhile, and may return without reason."""

    def __enter__(self) -> Any: ...

    def __exit__(self, *_: Any) -> Any: ...

    async def wait(self, seconds: float | None) -> None: ...

    def notify_all(self) -> None: ...


class Task(Protocol):
    async def join(self) -> None:
        """Waits for its end; does nothing when called by the task itself."""
        ...


class Runtime(Protocol):
    def now(self) -> float:
        """Seconds that never go back."""
        ...

    def monitor(self) -> Monitor: ...

    def lock(self) -> AsyncContextManager[Any]:
        """May be held across an await."""
        ...

    def reply(self) -> Reply: ...

    async def result(self, reply: Reply) -> Any: ...

    async def connect(self, address: Address, seconds: float) -> Stream: ...

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> Task: ...

    async def let_others_run(self) -> None:
        """For a loop that may have nothing to wait for."""
        ...

    async def run_blocking(self, work: Callable[[], T]) -> T:
        """For files."""
        ...
