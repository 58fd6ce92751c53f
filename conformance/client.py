#!/usr/bin/env python3
"""Holds a client of the booblik protocol to its rules, through the command line that conformance/README.md describes.

    conformance/run.sh conformance/clients/python
    conformance/run.sh 'node my_client.js' --only 'fetch.*' --junit report.xml
    conformance/run.sh ./my_client --broker 127.0.0.1:9092
    conformance/run.sh --list

It starts a booblik of its own (BOOBLIK_PROGRAM, or the one built here, or the one installed), or writes a few records to the broker
named. Exit codes: 0 every rule asked holds, 1 a rule is broken or nothing was asked, 2 wrong usage, 3 there is no broker or no client.
"""

from __future__ import annotations

import argparse
import fnmatch
import shlex
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Iterator, Sequence

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import report  # noqa: E402
from booblik_socket import Connection, Misbehaviour  # noqa: E402
from client_command import ClientCommand  # noqa: E402
from client_rules import CLIENT_RULES, ROLES, ClientTarget, declared_roles  # noqa: E402
from client_rules.registry import PARTITIONS, SINGLE, TOPIC  # noqa: E402
from local_broker import LocalBroker, NoBroker  # noqa: E402
from ruleset import Outcome, Rule, Status, run_rule  # noqa: E402

TOPICS = f"{TOPIC}:{PARTITIONS},{SINGLE}:1"
SEGMENT_BYTES = 8192


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="conformance/run.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("client", nargs="?", metavar="'CLIENT COMMAND'", help="a program and its first arguments, quoted as one")
    parser.add_argument("--broker", metavar="HOST:PORT", help=f"a running broker with the topics {TOPICS}")
    parser.add_argument("--segment-bytes", type=int, metavar="N", help="the segment capacity of that broker, for a rule about it")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="rules by name, e.g. 'fetch.*'; may be repeated")
    parser.add_argument("--jobs", type=int, default=3, metavar="N", help="rules asked at a time (default: 3)")
    parser.add_argument("--verb-seconds", type=float, default=20.0, metavar="S", help="the longest that a verb may take (default: 20)")
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON; - is standard output")
    parser.add_argument("--junit", metavar="FILE", help="write the report as JUnit XML; - is standard output")
    parser.add_argument("--list", action="store_true", help="print the rules and stop")
    parsed = parser.parse_args()
    if not parsed.list and not parsed.client:
        parser.error("the client command is missing, for example conformance/clients/python")
    return parsed


def chosen(patterns: Sequence[str] | None) -> list[Rule[ClientTarget]]:
    wanted = patterns or ["*"]
    return [one for one in CLIENT_RULES.values() if any(fnmatch.fnmatch(one.name, pattern) for pattern in wanted)]


def run_rules(rules: Sequence[Rule[ClientTarget]], target: ClientTarget, jobs: int) -> Iterator[Outcome[ClientTarget]]:
    """In their order. Those that need the broker's topics for themselves run one behind the other, beside the others."""
    with ThreadPoolExecutor(1) as sole, ThreadPoolExecutor(max(1, jobs - 1)) as crowd:
        started = [(sole if one.alone or jobs < 2 else crowd).submit(ask, one, target) for one in rules]
        for outcome in started:
            yield outcome.result()


def ask(one: Rule[ClientTarget], target: ClientTarget) -> Outcome[ClientTarget]:
    return run_rule(one, target)


def address_of(broker: str) -> tuple[str, int]:
    host, _, port = broker.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"'{broker}' is not HOST:PORT")
    return host.strip("[]"), int(port)


def require_topics(host: str, port: int) -> None:
    with Connection(host, port) as connection:
        there = {topic.name: len(topic.partitions) for topic in connection.metadata()}
    if there.get(TOPIC) != PARTITIONS or there.get(SINGLE) != 1:
        raise NoBroker(f"the broker needs the topics {TOPICS}; it has {there}")


def write_reports(options: argparse.Namespace, outcomes: Sequence[Outcome[ClientTarget]]) -> None:
    if options.json:
        report.write(options.json, report.as_json("client", options.client, outcomes))
    if options.junit:
        report.write(options.junit, report.as_junit(options.client, outcomes))


def hold_to_rules(options: argparse.Namespace, rules: Sequence[Rule[ClientTarget]], target: ClientTarget) -> int:
    quiet = "-" in (options.json, options.junit)
    if not quiet:
        print(f"{options.client}: {', '.join(role for role in ROLES if role in target.roles) or 'no role'}", flush=True)
    outcomes = []
    for outcome in run_rules(rules, target, options.jobs):
        outcomes.append(outcome)
        if not quiet:
            print(report.line(outcome), flush=True)
    if not quiet:
        print(report.summary(outcomes))
    write_reports(options, outcomes)
    if all(outcome.status is Status.SKIPPED for outcome in outcomes):
        print("every rule was skipped: nothing was tested", file=sys.stderr)
        return 1
    return 1 if any(outcome.status is Status.FAILED for outcome in outcomes) else 0


def main() -> int:
    # The broker that was started here ends with this program, also when somebody ends it.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    options = arguments()
    rules = chosen(options.only)
    if options.list:
        for one in rules:
            print(f"{one.name:24} §{one.section:3} {one.says}")
        return 0
    try:
        given = address_of(options.broker) if options.broker else None
        client = ClientCommand(shlex.split(options.client), options.verb_seconds)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if not rules or not client.command:
        print("no rule has such a name; --list shows them" if not rules else "the client command is empty", file=sys.stderr)
        return 2
    try:
        roles = declared_roles(client)
        if given is not None:
            require_topics(*given)
            return hold_to_rules(options, rules, ClientTarget(client, *given, roles, options.segment_bytes))
        with LocalBroker(TOPICS, SEGMENT_BYTES) as own:
            return hold_to_rules(options, rules, ClientTarget(client, own.host, own.port, roles, SEGMENT_BYTES))
    except (OSError, Misbehaviour, NoBroker) as error:
        print(error, file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
