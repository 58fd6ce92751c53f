"""What a rule about clients may use."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Iterable, Iterator

import booblik_wire as wire
from booblik_socket import Connection, Misbehaviour
from client_command import Answer, ClientCommand
from ruleset import RuleSet, Skipped, require
from scripted_broker import Script, ScriptedBroker

__all__ = ["CLIENT_RULES", "ROLES", "Call", "ClientTarget", "Scripted", "declared_roles", "end_of", "require", "rule"]

TOPIC, PARTITIONS = "conformance", 3
SINGLE = "single"
ROLES = ("admin", "producer", "keyed-producer", "consumer")


@dataclass(frozen=True)
class Call:
    """The verb of a role with harmless arguments, and the kind of request whose answer it reports."""

    arguments: tuple[str, ...]
    api_key: int


CALLS = {
    "admin": Call(("metadata", TOPIC), wire.METADATA),
    "producer": Call(("produce", TOPIC, "0", "1", "6869"), wire.PRODUCE),
    "keyed-producer": Call(("produce-keyed", TOPIC, "6b", "6869"), wire.PRODUCE),
    "consumer": Call(("fetch", TOPIC, "0", "0", "4096"), wire.FETCH),
}


@dataclass
class Scripted:
    """A client before a scripted broker."""

    client: ClientCommand
    broker: ScriptedBroker

    def run(self, *arguments: str, timeout_ms: int | None = None) -> Answer:
        """Also holds every request that came to the form that the protocol gives it."""
        answer = self.client.run(f"127.0.0.1:{self.broker.port}", *arguments, timeout_ms=timeout_ms)
        answer.require(not self.broker.problems, f"it has sent what no client may: {'; '.join(self.broker.problems)}")
        return answer


@dataclass
class ClientTarget:
    """The client under test, what it says it can do, and a healthy broker with the topics conformance:3 and single:1."""

    client: ClientCommand
    host: str
    port: int
    roles: frozenset[str] = frozenset()
    segment_bytes: int | None = None  # the broker's segment capacity, if it is known
    timeout: float = 10.0
    _numbers: Iterable[int] = field(default_factory=itertools.count)

    def run(self, *arguments: str) -> Answer:
        """Against the healthy broker."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.client.run(f"{host}:{self.port}", *arguments)

    @contextmanager
    def scripted(self, script: Script | None = None) -> Iterator[Scripted]:
        with ScriptedBroker(script or Script()) as broker:
            yield Scripted(self.client, broker)

    def reader(self) -> Connection:
        """The kit's own eyes on the healthy broker."""
        return Connection(self.host, self.port, self.timeout)

    def need(self, role: str) -> None:
        if role not in self.roles:
            raise Skipped(f"the client is no {role}")

    def calls(self) -> list[Call]:
        """One of each role that the client has."""
        calls = [CALLS[role] for role in ROLES if role in self.roles]
        if not calls:
            raise Skipped("the client has no role")
        return calls

    def payload(self, size: int = 20) -> bytes:
        """One that no other call returns, of at least 20 bytes."""
        return f"client {next(iter(self._numbers)):012d} ".encode().ljust(size, b"y")


def end_of(reader: Connection, topic: str, partition: int) -> int:
    return reader.partition(topic, partition).high_watermark


_SET: RuleSet[ClientTarget] = RuleSet()
CLIENT_RULES = _SET.rules
rule = _SET.rule


def declared_roles(client: ClientCommand) -> frozenset[str]:
    """Asks the client. Raises Misbehaviour when the answer is none."""
    answer = client.run("127.0.0.1:1", "capabilities")  # where nobody is: it needs nobody
    answer.carried_out()
    answer.require(len(answer.values("roles")) == 1, "expected one line roles=")
    roles = [role for role in answer.values("roles")[0].split(",") if role]
    unknown = sorted(set(roles) - set(ROLES))
    if unknown:
        raise Misbehaviour(f"capabilities: roles are {', '.join(ROLES)}; not {', '.join(unknown)}")
    return frozenset(roles)
