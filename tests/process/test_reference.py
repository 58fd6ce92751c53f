"""The rules against the reference broker: as it is, it keeps them all; with one broken, that one's rule must say so."""

from __future__ import annotations

import unittest

import harness  # first: it makes conformance importable
from reference_broker import ReferenceBroker
from rules import RULES, Outcome, Rule, Status, Target, run_rule

TOPICS = {"orders": 3, "a": 1, "больше": 2}
# Rules about segments need small ones, rules about large records need large ones.
SEGMENT_SIZES = (512 << 20, 4096)
# Some breaches are races (an answer that comes too early), which a busy machine can hide for a while.
TRIES = 20


def ask(rule: Rule[Target], segment_bytes: int, broken: frozenset[str] = frozenset(), timeout: float = 20.0) -> Outcome[Target]:
    with ReferenceBroker(TOPICS, segment_bytes=segment_bytes, broken=broken) as broker:
        known = segment_bytes if segment_bytes < 1 << 20 else None
        return run_rule(rule, Target("127.0.0.1", broker.port, "orders", known, timeout))


class ReferenceBrokerTest(unittest.TestCase):
    def test_it_keeps_every_rule(self) -> None:
        for rule in RULES.values():
            if rule.slow and not harness.LARGE:
                continue
            with self.subTest(rule.name):
                outcomes = [ask(rule, size) for size in SEGMENT_SIZES]
                failed = [outcome.detail for outcome in outcomes if outcome.status is Status.FAILED]
                self.assertEqual(failed, [])
                self.assertIn(Status.PASSED, [outcome.status for outcome in outcomes], "asked of no broker")

    def test_each_rule_catches_the_broker_that_breaks_it(self) -> None:
        for rule in RULES.values():  # slow ones too: a breach shows itself long before the rule is through
            with self.subTest(rule.name):
                self.assertTrue(any(self.catches(rule) for _ in range(TRIES)))

    def catches(self, rule: Rule[Target]) -> bool:
        # An answer that never comes is the breach of some: hence the short time-out.
        broken = frozenset([rule.name])
        return any(ask(rule, size, broken, timeout=0.5).status is Status.FAILED for size in SEGMENT_SIZES)


if __name__ == "__main__":
    unittest.main()
