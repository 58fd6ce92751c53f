"""What a rule about brokers may use."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Iterable

import booblik_wire as wire
from booblik_socket import Connection
from ruleset import Outcome, Rule, RuleSet, Skipped, Status, require, run_rule

__all__ = ["RULES", "Outcome", "Rule", "Skipped", "Status", "Target", "refused", "require", "rule", "run_rule"]


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


def refused(
    target: Target, api_key: int, api_version: int, body: bytes, code: wire.Code, what: str
) -> None:
    """The request is answered with its own correlation id and `code`, and the connection goes on."""
    with target.connect() as connection:
        connection.expect(connection.send_request(api_key, api_version, body), code, what)
        connection.expect_open(what)


_SET: RuleSet[Target] = RuleSet()
RULES = _SET.rules
rule = _SET.rule
