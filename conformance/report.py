"""The outcome of a run as text, JSON or JUnit XML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Sequence
from xml.etree import ElementTree

from ruleset import Outcome, Status

_MARKS = {Status.PASSED: "ok  ", Status.FAILED: "FAIL", Status.SKIPPED: "skip"}


def count(outcomes: Sequence[Outcome[Any]], status: Status) -> int:
    return sum(outcome.status is status for outcome in outcomes)


def line(outcome: Outcome[Any]) -> str:
    text = f"{_MARKS[outcome.status]} {outcome.rule.name:32} {outcome.rule.says}"
    return text + (f"\n     {outcome.detail}" if outcome.detail else "")


def summary(outcomes: Sequence[Outcome[Any]]) -> str:
    passed, failed, skipped = (count(outcomes, status) for status in (Status.PASSED, Status.FAILED, Status.SKIPPED))
    return f"{passed} passed, {failed} failed, {skipped} skipped"


def as_json(kind: str, name: str, outcomes: Sequence[Outcome[Any]]) -> str:
    rules = [
        {
            "name": outcome.rule.name,
            "section": outcome.rule.section,
            "says": outcome.rule.says,
            "status": outcome.status.value,
            "detail": outcome.detail,
            "seconds": round(outcome.seconds, 3),
        }
        for outcome in outcomes
    ]
    totals = {status.value: count(outcomes, status) for status in Status}
    return json.dumps({kind: name, **totals, "rules": rules}, indent=2, ensure_ascii=False)


def as_junit(name: str, outcomes: Sequence[Outcome[Any]]) -> str:
    suite = ElementTree.Element(
        "testsuite",
        name=f"booblik protocol, {name}",
        tests=str(len(outcomes)),
        failures=str(count(outcomes, Status.FAILED)),
        skipped=str(count(outcomes, Status.SKIPPED)),
    )
    for outcome in outcomes:
        group, name = outcome.rule.name.split(".", 1)
        case = ElementTree.SubElement(suite, "testcase", classname=group, name=name, time=f"{outcome.seconds:.3f}")
        if outcome.status is not Status.PASSED:
            kind = "failure" if outcome.status is Status.FAILED else "skipped"
            ElementTree.SubElement(case, kind, message=outcome.detail).text = outcome.rule.says
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def write(path: str, text: str) -> None:
    """`-` is standard output."""
    if path == "-":
        print(text)
    else:
        Path(path).write_text(text + "\n", encoding="utf-8")
