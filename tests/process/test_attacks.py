"""Each attack, small: memory stays within its bounds, an honest client is served as before, everything is released within
seconds, and the log says why a connection was cut, without being flooded. bench/attacks.py runs them in full."""

from __future__ import annotations

import unittest

import attacks
import harness
from attacks import MIB, Attack, Outcome

SECONDS = 0.8
# One that attacks the broker must not make it take more than what the settings say, and what connections cost.
CONNECTION_BYTES = 64 * 1024
REQUEST_MEMORY = 256 * MIB
ELSE_BYTES = 16 * MIB


class Attacks(harness.ProcessTest):
    """A case for each attack is added below."""

    def run_attack(self, attack: Attack) -> None:
        broker = self.serve(attacks.TOPICS, **attacks.settings(attack, small=True))
        outcome = attacks.measure(broker, attack, attack.small, SECONDS)
        print("\n" + attacks.table([outcome]).splitlines()[-1])
        self.check_log(outcome)
        if not harness.SANITIZED:
            self.check_memory(outcome)
            self.check_latency(outcome)
        self.assertLess(outcome.release_seconds, 10)
        self.assertEqual(broker.stop(), 0)

    def check_memory(self, outcome: Outcome) -> None:
        settings = attacks.settings(outcome.attack, small=True)
        requests = settings.get("limit_request_memory_bytes", REQUEST_MEMORY)
        assert isinstance(requests, int)
        grown = outcome.resident_peak - outcome.resident_before
        self.assertLess(grown, requests + outcome.connections * CONNECTION_BYTES + ELSE_BYTES)

    def check_latency(self, outcome: Outcome) -> None:
        # The attackers use the same cores, hence so wide.
        self.assertLess(outcome.during.p50_ms, max(20 * outcome.before.p50_ms, 50))
        if outcome.large_ms is not None:
            self.assertLess(outcome.large_ms, 10_000)

    def check_log(self, outcome: Outcome) -> None:
        if outcome.attack.reason is not None:
            self.assertRegex(outcome.log, f"closed .*{outcome.attack.reason}")
            self.assertGreater(outcome.cut, 0)
        # Ten of a kind in ten seconds; a run may see the end of one period and the beginning of the next.
        kinds = 3
        self.assertLessEqual(outcome.lines, 2 * 10 * kinds)


def add_cases() -> None:
    for attack in attacks.ATTACKS:

        def case(self: Attacks, attack: Attack = attack) -> None:
            self.run_attack(attack)

        case.__doc__ = attack.says
        setattr(Attacks, f"test_{attack.name.replace('-', '_')}", case)


add_cases()

if __name__ == "__main__":
    unittest.main()
