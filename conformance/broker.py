#!/usr/bin/env python3
"""Holds a broker of the booblik protocol to its rules, one by one, over the wire alone.

    conformance/broker.py 127.0.0.1:9092
    conformance/broker.py 127.0.0.1:9092 --topic orders --segment-bytes 65536 --junit report.xml
    conformance/broker.py --list

It writes records (up to about 40 MiB) to one topic: give it a broker that may be written to and that nobody else uses
meanwhile. Exit codes: 0 every rule asked holds, 1 a rule is broken, 2 wrong usage, 3 the broker cannot be reached or has no topic.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import report  # noqa: E402
from booblik_socket import Connection, Misbehaviour  # noqa: E402
from rules import RULES, Rule, Status, Target, run_rule  # noqa: E402


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("broker", nargs="?", metavar="HOST:PORT")
    parser.add_argument("--topic", help="the topic to write to (default: the first that METADATA names)")
    parser.add_argument("--segment-bytes", type=int, metavar="N", help="the broker's segment capacity, for rules about segments")
    parser.add_argument("--timeout", type=float, default=10.0, metavar="S", help="the longest wait for an answer (default: 10)")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="rules by name, e.g. 'fetch.*'; may be repeated")
    parser.add_argument("--slow", action="store_true", help="also rules that take a minute")
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON; - is standard output")
    parser.add_argument("--junit", metavar="FILE", help="write the report as JUnit XML; - is standard output")
    parser.add_argument("--list", action="store_true", help="print the rules and stop")
    parsed = parser.parse_args()
    if not parsed.list and not parsed.broker:
        parser.error("HOST:PORT is missing, for example 127.0.0.1:9092")
    return parsed


def chosen(options: argparse.Namespace) -> list[Rule[Target]]:
    patterns = options.only or ["*"]
    return [
        one
        for one in RULES.values()
        if any(fnmatch.fnmatch(one.name, pattern) for pattern in patterns) and (options.slow or not one.slow)
    ]


def target_of(options: argparse.Namespace) -> Target:
    host, _, port = options.broker.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"'{options.broker}' is not HOST:PORT")
    host = host.strip("[]")
    with Connection(host, int(port), options.timeout) as connection:
        topics = [topic.name for topic in connection.metadata()]
    topic = options.topic or (topics[0] if topics else "")
    if topic not in topics:
        raise ConnectionError(f"the broker has no topic '{topic}'; it has {', '.join(topics) or 'none'}")
    return Target(host, int(port), topic, options.segment_bytes, options.timeout)


def main() -> int:
    options = arguments()
    rules = chosen(options)
    if options.list:
        for one in rules:
            print(f"{one.name:32} §{one.section:5} {one.says}")
        return 0
    if not rules:
        print("no rule has such a name; --list shows them", file=sys.stderr)
        return 2
    try:
        target = target_of(options)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    except (OSError, Misbehaviour) as error:
        print(f"{options.broker}: {error}", file=sys.stderr)
        return 3
    quiet = "-" in (options.json, options.junit)
    outcomes = []
    for one in rules:
        outcomes.append(run_rule(one, target))
        if not quiet:
            print(report.line(outcomes[-1]), flush=True)
    if not quiet:
        print(report.summary(outcomes))
    if options.json:
        report.write(options.json, report.as_json("broker", options.broker, outcomes))
    if options.junit:
        report.write(options.junit, report.as_junit(options.broker, outcomes))
    if all(outcome.status is Status.SKIPPED for outcome in outcomes):
        print("every rule was skipped: nothing was tested", file=sys.stderr)
        return 1
    return 1 if any(outcome.status is Status.FAILED for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
