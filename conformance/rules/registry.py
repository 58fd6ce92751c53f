"""How a rule is declared, what it may use, and how it is run."""

from __future__ import annotations

import enum
import itertools
import time
from dataclasses import dataclass, field
from typing import Callable, Iterable

import booblik_wire as wire
from booblik_socket import Connection, Misbehaviour


class Skipped(Exception):
    """The rule cannot be asked of this broker as it is configured; the text says what is missing."""


class Status(enum.Enum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Rule:
    name: str
    section: str  # of the protocol page
    says: str  # the rule in one sentence
    check: Callable[[Target], None]
    slow: bool = False


@dataclass(frozen=True)
class Outcome:
    rule: Rule
    status: Status
    detail: str
    seconds: float


RULES: dict[str, Rule] = {}


def rule(name: str, section: str, says: str, *, slow: bool = False) -> Callable[[Callable[[Target], None]], Callable[[Target], None]]:
    def declare(check: Callable[[Target], None]) -> Callable[[Target], None]:
        if name in RULES:
            raise ValueError(f"two rules are called {name}")
        RULES[name] = Rule(name, section, says, check, slow)
        return check

    return declare


@dataclass
class Target:
    """The broker under test, and what a rule may know about it. Nobody else writes to its topics meanwhile; they
    may hold records already."""

    host: str
    port: int
    topic: str  # written to
    segment_bytes: int | None = None  # the broker's segment capacity, if it is known
    timeout: float = 10.0
    _numbers: Iterable[int] = field(default_factory=itertools.count)

    def connect(self, receive_buffer: int | None = None) -> Connection:
        return Connection(self.host, self.port, self.timeout, receive_buffer)

    def payloads(self, count: int, size: int = 20) -> list[bytes]:
        """Records that no other call returns, of exactly `size` bytes (at least 20)."""
        return [f"record {next(iter(self._numbers)):012d} ".encode().ljust(size, b"x") for _ in range(count)]

    def segment_capacity(self, most: int) -> int:
        """The known segment capacity, for rules that fill whole segments."""
        if self.segment_bytes is None:
            raise Skipped("the segment capacity of the broker is not known (--segment-bytes)")
        if self.segment_bytes > most:
            raise Skipped(f"the segment capacity is {self.segment_bytes} bytes, the rule needs at most {most}")
        return self.segment_bytes

    def topic_with_partitions(self, connection: Connection) -> wire.Topic:
        return connection.metadata([self.topic])[0]


def require(condition: bool, sentence: str) -> None:
    if not condition:
        raise Misbehaviour(sentence)


def refused(
    target: Target, api_key: int, api_version: int, body: bytes, code: wire.Code, what: str
) -> None:
    """The request is answered with its own correlation id and `code`, and the connection goes on."""
    with target.connect() as connection:
        connection.expect(connection.send_request(api_key, api_version, body), code, what)
        connection.expect_open(what)


def run_rule(one: Rule, target: Target) -> Outcome:
    begin = time.monotonic()
    try:
        one.check(target)
        status, detail = Status.PASSED, ""
    except Skipped as skipped:
        status, detail = Status.SKIPPED, str(skipped)
    except (Misbehaviour, OSError) as error:
        status, detail = Status.FAILED, str(error) or type(error).__name__
    return Outcome(one, status, detail, time.monotonic() - begin)


def run_rules(rules: Iterable[Rule], target: Target) -> list[Outcome]:
    return [run_rule(one, target) for one in rules]
