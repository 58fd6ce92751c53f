"""The rules for clients: the Python client keeps them all, and each rule catches the client that breaks it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

CONFORMANCE = Path(__file__).resolve().parents[2] / "conformance"
sys.path.insert(0, str(CONFORMANCE))

from broken_client import BREACHES  # noqa: E402
from client import SEGMENT_BYTES, TOPICS, run_rules  # noqa: E402
from client_command import ClientCommand  # noqa: E402
from client_rules import CLIENT_RULES, ROLES, ClientTarget  # noqa: E402
from local_broker import LocalBroker  # noqa: E402
from ruleset import Outcome, Status, run_rule  # noqa: E402

# Without site-packages, which cost a process half of its start.
BROKEN_CLIENT = (sys.executable, "-S", str(Path(__file__).resolve().parent / "broken_client.py"))
JOBS = 4
# The role that shows a rule; a rule for every client is shown by the cheapest.
ROLE_OF = {"metadata": "admin", "keyed": "keyed-producer", "fetch": "consumer"}
# Some breaches are races (an answer in pieces that a busy machine puts together again).
TRIES = 10


class Kit(unittest.TestCase):
    broker: LocalBroker
    ends: contextlib.ExitStack

    @classmethod
    def setUpClass(cls) -> None:
        cls.ends = contextlib.ExitStack()
        cls.broker = cls.ends.enter_context(LocalBroker(TOPICS, SEGMENT_BYTES))

    @classmethod
    def tearDownClass(cls) -> None:
        cls.ends.close()

    def target(self, roles: frozenset[str], *flags: str, verb_seconds: float = 20.0) -> ClientTarget:
        client = ClientCommand([*BROKEN_CLIENT, *flags], verb_seconds)
        return ClientTarget(client, self.broker.host, self.broker.port, roles, SEGMENT_BYTES)

    def program(self, client: str, *flags: str, roles: str = ",".join(ROLES)) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(CONFORMANCE / "run.sh"), client, *flags, f"--broker={self.broker.host}:{self.broker.port}"],
            env=os.environ | {"ROLES": roles},
            capture_output=True,
            text=True,
            timeout=120,
        )


class Rules(Kit):
    def test_the_client_that_breaks_nothing_passes_every_rule(self) -> None:
        for outcome in run_rules(list(CLIENT_RULES.values()), self.target(frozenset(ROLES)), JOBS):
            with self.subTest(outcome.rule.name):
                self.assertIs(outcome.status, Status.PASSED, outcome.detail)

    def test_each_rule_has_a_breach(self) -> None:
        self.assertEqual({breach.split(":")[0] for breach in BREACHES}, set(CLIENT_RULES))

    def test_each_rule_catches_the_client_that_breaks_it(self) -> None:
        alone = [breach for breach in BREACHES if CLIENT_RULES[breach.split(":")[0]].alone]
        others = [breach for breach in BREACHES if breach not in alone]
        with ThreadPoolExecutor(1) as sole, ThreadPoolExecutor(JOBS - 1) as crowd:
            caught = zip([*alone, *others], [*sole.map(self.caught, alone), *crowd.map(self.caught, others)])
        for breach, outcome in caught:
            with self.subTest(breach):
                self.assertIs(outcome.status, Status.FAILED, "the rule lets it pass")

    def caught(self, breach: str) -> Outcome[ClientTarget]:
        rule = CLIENT_RULES[breach.split(":")[0]]
        role = ROLE_OF.get(rule.name.split(".")[0], "consumer" if rule.name == "answer.payload-bytes" else "producer")
        seconds = 2.0 if breach == "answer.none" else 20.0
        for _ in range(TRIES):
            outcome = run_rule(rule, self.target(frozenset([role]), f"--broken={breach}", verb_seconds=seconds))
            if outcome.status is Status.FAILED:
                break
        return outcome

    def test_what_a_client_cannot_do_is_skipped(self) -> None:
        outcome = run_rule(CLIENT_RULES["fetch.records"], self.target(frozenset(["producer"])))
        self.assertIs(outcome.status, Status.SKIPPED)
        self.assertIn("consumer", outcome.detail)


class Program(Kit):
    def test_the_python_client_passes(self) -> None:
        done = subprocess.run(
            [str(CONFORMANCE / "run.sh"), f"{sys.executable} -S {CONFORMANCE / 'clients' / 'python'}", "--json=-", "--jobs=4"],
            capture_output=True,
            text=True,
            timeout=200,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual((report["passed"], report["failed"], report["skipped"]), (len(CLIENT_RULES), 0, 0))

    def test_a_broken_rule_is_named_in_every_kind_of_report(self) -> None:
        client = " ".join([*BROKEN_CLIENT, "--broken=metadata.unknown"])
        done = self.program(client, "--only=metadata.*")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("FAIL metadata.unknown", done.stdout)
        self.assertIn("2 passed, 1 failed, 0 skipped", done.stdout)
        suite = ElementTree.fromstring(self.program(client, "--only=metadata.*", "--junit=-").stdout)
        self.assertEqual([case.get("name") for case in suite if case.find("failure") is not None], ["unknown"])

    def test_a_run_in_which_everything_was_skipped_fails(self) -> None:
        done = self.program(" ".join(BROKEN_CLIENT), "--only=fetch.*", roles="producer")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("nothing was tested", done.stderr)

    def test_wrong_usage_no_client_and_no_broker_have_codes_of_their_own(self) -> None:
        run = [str(CONFORMANCE / "run.sh")]
        client = " ".join(BROKEN_CLIENT)
        for arguments, code in {
            (): 2,
            ("",): 2,
            (client, "--only=nothing"): 2,
            (client, "--broker=nonsense"): 2,
            (client, "--broker=127.0.0.1:1"): 3,
            ("/no/such/client",): 3,
            (client + " --broken=usage.capabilities",): 3,
        }.items():
            with self.subTest(arguments):
                done = subprocess.run([*run, *arguments], capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertNotEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
