"""conformance/broker.py as its users run it, against reference brokers in processes of their own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import unittest
from pathlib import Path
from xml.etree import ElementTree

import harness

REFERENCE = Path(__file__).resolve().parent / "reference_broker.py"
KIT = harness.ROOT / "conformance" / "broker.py"


class ConformanceProgram(harness.ProcessTest):
    def reference(self, *flags: str) -> str:
        command = [sys.executable, str(REFERENCE), "--topics=orders:3,a:1", *flags]
        self.data.mkdir(exist_ok=True)
        broker = harness.Broker(self.data, command=command)
        self.addCleanup(broker.kill)
        return f"127.0.0.1:{broker.port}"

    def run_kit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, str(KIT), *arguments], capture_output=True, text=True, timeout=60)

    def test_a_sound_broker_passes(self) -> None:
        done = self.run_kit(self.reference("--segment-capacity-bytes=4096"), "--segment-bytes=4096", "--topic=orders", "--only=fetch.*")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("ok   fetch.segment-end", done.stdout)
        self.assertIn("0 failed", done.stdout)

    def test_a_broken_rule_is_named_in_every_kind_of_report(self) -> None:
        broker = self.reference("--broken=fetch.out-of-range")
        paths = [self.directory / name for name in ("report.json", "report.xml")]
        done = self.run_kit(broker, "--only=fetch.out-of-range", "--only=metadata.named", f"--json={paths[0]}", f"--junit={paths[1]}")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("FAIL fetch.out-of-range", done.stdout)
        as_json = json.loads(paths[0].read_text())
        self.assertEqual((as_json["passed"], as_json["failed"]), (1, 1))
        suite = ElementTree.parse(paths[1]).getroot()
        failed = [case.get("name") for case in suite if case.find("failure") is not None]
        self.assertEqual(failed, ["out-of-range"])

    def test_wrong_usage_and_no_broker_have_codes_of_their_own(self) -> None:
        self.assertEqual(self.run_kit().returncode, 2)
        self.assertEqual(self.run_kit("nonsense").returncode, 2)
        self.assertEqual(self.run_kit("127.0.0.1:1").returncode, 3)
        broker = self.reference()
        self.assertEqual(self.run_kit(broker, "--only=nothing").returncode, 2)
        self.assertEqual(self.run_kit(broker, "--topic=nothing").returncode, 3)
        skipped = self.run_kit(broker, "--only=fetch.segment-end")
        self.assertEqual(skipped.returncode, 1, "a run in which nothing was asked passes")


class Harness(harness.ProcessTest):
    def reference(self, *flags: str) -> harness.Broker:
        self.data.mkdir(exist_ok=True)
        broker = harness.Broker(self.data, command=[sys.executable, str(REFERENCE), *flags])
        self.addCleanup(broker.kill)
        return broker

    def test_a_broker_is_started_stopped_and_killed(self) -> None:
        broker = self.reference("--topics=orders:2")
        with broker.connect() as connection:
            self.assertEqual(len(connection.metadata()[0].partitions), 2)
        self.assertGreater(broker.resident_bytes(), 1 << 20)
        self.assertEqual(broker.stop(), 0)
        broker = self.reference()
        broker.kill()
        self.assertEqual(broker.process.returncode, -9)

    def test_a_broker_that_does_not_start_is_reported_with_what_it_said(self) -> None:
        with self.assertRaisesRegex(harness.StartFailed, "unrecognized arguments"):
            self.reference("--nonsense")

    def test_a_stop_answers_held_fetches(self) -> None:
        broker = self.reference()
        with broker.connect() as connection:
            held = connection.send_fetch("default", 0, max_wait_ms=30_000)
            with broker.connect() as other:
                other.metadata()
            broker.signal(signal.SIGTERM)
            self.assertEqual(connection.expect_fetched(held).payload, b"")
            connection.expect_end()
        self.assertEqual(broker.wait(), 0)


if __name__ == "__main__":
    unittest.main()
