"""How rules are declared and run: those about brokers in rules/, those about clients in client_rules/."""

from __future__ import annotations

import enum
import time
from dataclasses import dataclass
from typing import Callable, Generic, TypeVar

from booblik_socket import Misbehaviour

T = TypeVar("T")


class Skipped(Exception):
    """The rule cannot be asked of this target; the text says what is missing."""


class Status(enum.Enum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Rule(Generic[T]):
    """`T` is what the rule is asked of."""

    name: str
    section: str  # of the protocol page
    says: str  # the rule in one sentence
    check: Callable[[T], None]  # raises Misbehaviour when the rule is broken
    slow: bool = False
    alone: bool = True  # nobody else may use the topics meanwhile


@dataclass(frozen=True)
class Outcome(Generic[T]):
    rule: Rule[T]
    status: Status
    detail: str
    seconds: float


class RuleSet(Generic[T]):
    def __init__(self) -> None:
        self.rules: dict[str, Rule[T]] = {}

    def rule(
        self, name: str, section: str, says: str, *, slow: bool = False, alone: bool = True
    ) -> Callable[[Callable[[T], None]], Callable[[T], None]]:
        def declare(check: Callable[[T], None]) -> Callable[[T], None]:
            if name in self.rules:
                raise ValueError(f"two rules are called {name}")
            self.rules[name] = Rule(name, section, says, check, slow, alone)
            return check

        return declare


def require(condition: bool, sentence: str) -> None:
    if not condition:
        raise Misbehaviour(sentence)


def run_rule(one: Rule[T], target: T) -> Outcome[T]:
    begin = time.monotonic()
    try:
        one.check(target)
        status, detail = Status.PASSED, ""
    except Skipped as skipped:
        status, detail = Status.SKIPPED, str(skipped)
    except (Misbehaviour, OSError) as error:
        status, detail = Status.FAILED, str(error) or type(error).__name__
    return Outcome(one, status, detail, time.monotonic() - begin)
