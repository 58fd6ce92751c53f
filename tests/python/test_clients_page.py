"""docs/clients.md: its frames are those of the codec, its examples run, its output is what the kit prints."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import unittest

from scripted import ROOT, ProcessTest, at, wire

PAGE = (ROOT / "docs" / "clients.md").read_text()
STORED = wire.encode_records([b"hi", b"\xff"])

FRAMES = {
    "produce": wire.request(wire.PRODUCE, 1, 1, wire.produce_body("orders", 2, wire.ACK_WRITTEN, [b"hi", b"\xff"])),
    "produced": wire.frame(struct.pack(">ihqq", 1, 0, 40, 42)),
    "refused": wire.frame(struct.pack(">ih", 1, wire.Code.RECORD_TOO_LARGE)),
    "fetch": wire.request(wire.FETCH, 1, 3, wire.fetch_body("orders", 2, 40, 15)),
    "fetched": wire.frame(struct.pack(">ihqi", 3, 0, 42, 15) + STORED[:15]),
    "held": wire.request(wire.FETCH, 2, 4, wire.fetch_body("orders", 2, 41, 1 << 20, 30_000, 1)),
    "metadata": wire.request(wire.METADATA, 1, 2, wire.metadata_body(["orders"])),
    "described": wire.frame(
        struct.pack(">ihi", 2, 0, 1) + wire.encode_name("orders") + struct.pack(">iiqq", 1, 0, 0, 42)
    ),
}


def blocks(pattern: str) -> list[str]:
    """What the one group of the pattern matches."""
    return re.findall(pattern, PAGE, re.MULTILINE | re.DOTALL)


class Page(ProcessTest):
    def test_frames(self) -> None:
        names = blocks(r"<!-- frame: (\w+) -->")
        shown = dict(zip(names, blocks(r"<!-- frame: \w+ -->\n```\n(.*?)```"), strict=True))
        self.assertEqual(set(shown), set(FRAMES))
        for name, text in shown.items():
            with self.subTest(name):
                # Bytes stand in front of what they mean, which two spaces part from them.
                hexes = "".join(re.match(r"((?:[0-9a-f]{2} {1,2})+)", line + "  ").group(1) for line in text.splitlines())  # type: ignore[union-attr]
                self.assertEqual(bytes.fromhex(hexes), FRAMES[name])

    def test_examples(self) -> None:
        broker = self.serve("orders:3")
        examples = blocks(r"```python\n(.*?)```")
        self.assertEqual(len(examples), 4)
        said = []
        for example in examples:
            environment = os.environ | {"PYTHONPATH": str(ROOT / "conformance" / "python")}
            done = subprocess.run(
                [sys.executable, "-c", example.replace("127.0.0.1:9092", at(broker))],
                cwd=self.directory,
                env=environment,
                capture_output=True,
                text=True,
                timeout=60,
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""), example)
            said.append(done.stdout)
        self.assertIn("Delivered(partition=", said[0])
        self.assertIn("b'third'", said[1])
        self.assertIn("the log ends at", said[1])
        self.assertIn("b'from a task' of", said[2])

    def test_output_of_the_kit(self) -> None:
        (shown,) = blocks(r"<!-- output: signed -->\n```\n(.*?)```")
        command, _, expected = shown.partition("\n")
        words = re.fullmatch(r"\$ conformance/run\.sh '([^']+)' --only '([^']+)'", command)
        assert words is not None, command
        done = subprocess.run(
            [ROOT / "conformance" / "run.sh", words.group(1), "--only", words.group(2)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual((done.returncode, done.stdout), (1, expected), done.stderr)


if __name__ == "__main__":
    unittest.main()
