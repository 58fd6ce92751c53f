"""Whole files through `booblik produce` and `booblik consume`: what comes out is what went in."""

from __future__ import annotations

import os
import random
import subprocess
import unittest
from pathlib import Path

import harness  # first: it makes conformance importable
import booblik_wire as wire
from test_data_directory import write_segment

LINES = 100_000 if harness.SANITIZED else 1_000_000
PARTITIONS = 3


def numbered_lines(count: int) -> list[bytes]:
    """Each one differs from all others, and their lengths and bytes vary; no empty one and no line end inside."""
    source = random.Random(20_000)
    words = [b"order", "заказ".encode(), b"\xff\xfe\x00\x01", b"\t tab", "😀".encode(), b"carriage return\r", b"x" * 200, b"%s\\n"]
    return [b"%d %s" % (number, words[source.randrange(len(words))]) for number in range(count)]


class FilesThroughTheProgram(harness.ProcessTest):
    def run_program(self, broker: harness.Broker, *arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = [harness.PROGRAM, *map(str, arguments), "--broker", f"{broker.host}:{broker.port}"]
        return subprocess.run(command, input=stdin, capture_output=True, timeout=120)

    def succeed(self, broker: harness.Broker, *arguments: str | Path, stdin: bytes = b"") -> bytes:
        done = self.run_program(broker, *arguments, stdin=stdin)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return done.stdout

    def consumed_lines(self, broker: harness.Broker, partition: int) -> list[bytes]:
        output = self.succeed(broker, "consume", "lines", "--partition", str(partition), "--exit-at-end")
        self.assertTrue(output.endswith(b"\n") or not output)
        return output.split(b"\n")[:-1]

    def check(self, broker: harness.Broker, lines: list[bytes]) -> None:
        """Every line once, unchanged, and in the order of the file within its partition."""
        seen = 0
        for partition in range(PARTITIONS):
            last = -1
            for line in self.consumed_lines(broker, partition):
                number = int(line.split(b" ", 1)[0])
                self.assertGreater(number, last, f"partition {partition} is out of order")
                if line != lines[number]:
                    self.fail(f"line {number} came back as {line!r}")
                last = number
                seen += 1
            self.assertGreater(last, 0, f"nothing went to partition {partition}")
        self.assertEqual(seen, len(lines))

    def test_a_million_lines_survive_a_restart_and_a_kill(self) -> None:
        lines = numbered_lines(LINES)
        file = self.directory / "lines"
        file.write_bytes(b"\n".join(lines))  # the last one has no line end
        topics = f"lines:{PARTITIONS}"
        broker = self.serve(topics, segment_capacity_bytes=8 << 20)
        self.succeed(broker, "produce", "lines", "--file", file)
        self.assertEqual(broker.stop(), 0)
        broker = self.serve(topics, segment_capacity_bytes=8 << 20)
        broker.kill()
        broker = self.serve(topics, segment_capacity_bytes=8 << 20)
        self.check(broker, lines)

    def test_lines_that_were_only_written_survive_a_kill(self) -> None:
        lines = numbered_lines(LINES // 10)
        broker = self.serve(f"lines:{PARTITIONS}")
        self.succeed(broker, "produce", "lines", "--acks", "written", stdin=b"\n".join(lines) + b"\n")
        broker.kill()
        self.check(self.serve(f"lines:{PARTITIONS}"), lines)

    def test_a_directory_of_the_original_broker(self) -> None:
        lines = numbered_lines(30_000)
        for partition in range(PARTITIONS):
            own = lines[partition::PARTITIONS]
            for base in range(0, len(own), 4000):
                write_segment(self.data / f"lines-{partition}", base, own[base : base + 4000])
        broker = self.serve(f"lines:{PARTITIONS}")
        self.check(broker, lines)
        more = [b"%d more" % number for number in range(len(lines), len(lines) + 3000)]
        self.succeed(broker, "produce", "lines", stdin=b"\n".join(more))
        self.assertEqual(broker.stop(), 0)
        self.check(self.serve(f"lines:{PARTITIONS}"), lines + more)

    def test_keys_choose_the_partition_that_every_client_chooses(self) -> None:
        keys = [b"user-%d" % number for number in range(50)] + ["ключ".encode(), "😀".encode(), b"\x80\xff"]
        lines = [b"%s|%d" % (key, number) for number in range(20) for key in keys]
        broker = self.serve(f"lines:{PARTITIONS}")
        self.succeed(broker, "produce", "lines", "--key-delimiter", "|", "--keep-key", stdin=b"\n".join(lines))
        for partition in range(PARTITIONS):
            wanted = [line for line in lines if wire.partition_for_key(line.split(b"|")[0], PARTITIONS) == partition]
            self.assertEqual(self.consumed_lines(broker, partition), wanted)

    def test_a_binary_file_as_one_record(self) -> None:
        content = os.urandom(5 << 20)
        file = self.directory / "image"
        file.write_bytes(content)
        broker = self.serve("lines:1")
        self.succeed(broker, "produce", "lines", "--input", "whole", "--file", file, "--acks", "forced")
        output = self.succeed(broker, "consume", "lines", "--exit-at-end", "--max-bytes", "7MiB", "--format", "%s")
        self.assertEqual(output, content)
        small = self.run_program(broker, "consume", "lines", "--exit-at-end", "--max-bytes", "1MiB")
        self.assertNotEqual(small.returncode, 0)
        self.assertIn(str(len(content)), small.stderr.decode().replace(" ", ""), "the size of the record is not named")

    def test_what_the_exit_code_says(self) -> None:
        broker = self.serve("lines:1")
        cases = {
            ("produce", "lines"): 0,
            ("produce", "no.such.topic"): 1,
            ("consume", "no.such.topic", "--exit-at-end"): 1,
            ("consume", "lines", "--offset", "7", "--exit-at-end"): 1,
            ("produce", "lines", "--acks", "some"): 2,
            ("consume",): 2,
        }
        for arguments, code in cases.items():
            with self.subTest(arguments):
                done = self.run_program(broker, *arguments, stdin=b"one line\n")
                self.assertEqual(done.returncode, code, done.stderr)
        broker.kill()
        for command in ("produce", "consume", "topics", "health"):
            arguments = (command,) if command in ("topics", "health") else (command, "lines")
            self.assertEqual(self.run_program(broker, *arguments, stdin=b"one line\n").returncode, 3, command)

    def test_a_consumer_that_follows_sees_what_comes(self) -> None:
        broker = self.serve("lines:1")
        command = [harness.PROGRAM, "consume", "lines", "--count", "300", "--broker", f"{broker.host}:{broker.port}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as consumer:
            assert consumer.stdout is not None
            with broker.connect() as connection:
                for number in range(300):
                    connection.produce("lines", [b"line %d" % number])
                    self.assertEqual(consumer.stdout.readline(), b"line %d\n" % number)
            self.assertEqual(consumer.wait(20), 0)


if __name__ == "__main__":
    unittest.main()
