"""The rules for clients, each one a function that runs verbs of the client and raises when the rule is broken."""

from client_rules import answers, consumers, keyed, metadata, producers, usage  # noqa: F401
from client_rules.registry import CLIENT_RULES, ROLES, ClientTarget, declared_roles

__all__ = ["CLIENT_RULES", "ROLES", "ClientTarget", "declared_roles"]
