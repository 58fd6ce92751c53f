"""The rules of the protocol, each one a function that talks to a broker and raises when the rule is broken."""

from rules import frames, fetches, held, limits_of_records, metadata, names, pipeline, produces  # noqa: F401
from rules.registry import RULES, Outcome, Rule, Status, Target, run_rule

__all__ = ["RULES", "Outcome", "Rule", "Status", "Target", "run_rule"]
