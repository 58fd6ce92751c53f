"""Every rule of the protocol against the real broker, with small segments and with large ones."""

from __future__ import annotations

import unittest

import harness  # first: it makes conformance importable
from rules import RULES, Status, Target, run_rule

TOPICS = "orders:3,a:1,больше:2"


class RulesOfTheProtocol(harness.ProcessTest):
    def ask_all(self, segment_bytes: int | None) -> set[str]:
        """Returns the rules that could not be asked."""
        settings = {} if segment_bytes is None else {"segment_capacity_bytes": segment_bytes}
        broker = self.serve(TOPICS, **settings)
        target = Target(broker.host, broker.port, "orders", segment_bytes, timeout=20.0)
        skipped = set()
        for rule in RULES.values():
            if rule.slow and not harness.LARGE:
                continue
            outcome = run_rule(rule, target)
            with self.subTest(rule.name, segment_bytes=segment_bytes):
                self.assertIsNot(outcome.status, Status.FAILED, f"{rule.says}: {outcome.detail}")
            if outcome.status is Status.SKIPPED:
                skipped.add(rule.name)
        with broker.connect() as connection:
            connection.expect_open("after all rules")
        self.assertEqual(broker.stop(), 0)
        return skipped

    def test_small_and_large_segments(self) -> None:
        never_asked = self.ask_all(4096) & self.ask_all(None)
        self.assertEqual(never_asked, set())

    def test_smallest_segments(self) -> None:
        self.ask_all(1024 + 512)


if __name__ == "__main__":
    unittest.main()
