"""The command line itself, and what every client does with its requests (section 1)."""

from __future__ import annotations

import socket

from client_rules.registry import ClientTarget, declared_roles, require, rule
from scripted_broker import Script


@rule("usage.capabilities", "-", "capabilities names the roles of the client and contacts nobody", alone=False)
def capabilities(target: ClientTarget) -> None:
    with target.scripted() as scripted:
        roles = declared_roles(target.client)
        require(bool(roles), "capabilities: the client declares no role")
        scripted.run("capabilities").carried_out()
        require(not scripted.broker.connections, "capabilities: the client has contacted the broker")


@rule("usage.wrong", "-", "an unknown verb, a missing argument and bytes that are not hexadecimal end with exit 2", alone=False)
def wrong(target: ClientTarget) -> None:
    with target.scripted() as scripted:
        scripted.run("no-such-verb").misused()
        for call in target.calls():
            scripted.run(*call.arguments[:-1]).misused()
        if "producer" in target.roles:
            scripted.run("produce", "conformance", "0", "1", "6x").misused()


@rule("usage.unreachable", "-", "where no broker listens the verb is not carried out", alone=False)
def unreachable(target: ClientTarget) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, but not listening: nobody else can come to listen there
        for call in target.calls():
            target.client.run(f"127.0.0.1:{nobody.getsockname()[1]}", *call.arguments).not_carried_out()


@rule("request.frame", "1", "a request has exactly the bytes of its fields", alone=False)
def frame(target: ClientTarget) -> None:
    with target.scripted() as scripted:
        for call in target.calls():
            scripted.run(*call.arguments).carried_out()  # run() holds each request to its form
            require(bool(scripted.broker.of_kind(call.api_key)), f"{call.arguments[0]}: no such request came")


@rule("request.topic-utf8", "1", "a topic name is UTF-8, and its length is counted in bytes", alone=False)
def topic_utf8(target: ClientTarget) -> None:
    topic = "журнал-ёж"
    script = Script(partitions={topic: 1})
    with target.scripted(script) as scripted:
        for call in target.calls():
            scripted.run(*(topic if one == "conformance" else one for one in call.arguments)).carried_out()
            asked = scripted.broker.of_kind(call.api_key)
            require(bool(asked) and asked[-1].topic == topic, f"{call.arguments[0]}: the topic came as {asked[-1:]}")
