"""What `booblik serve` makes of flags, variables and files, seen from outside."""

from __future__ import annotations

import os
import re
import subprocess
import unittest

from harness import PROGRAM, ROOT, ProcessTest

EXAMPLE = ROOT / "packaging/booblik.properties"


class ServeConfiguration(ProcessTest):
    def run_serve(self, *flags: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BOOBLIK_")}
        return subprocess.run(
            [PROGRAM, "serve", *flags],
            env=environment | variables,
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=30,
        )

    def write(self, text: str) -> str:
        path = self.directory / "booblik.properties"
        path.write_text(text)
        return path.name

    def shown(self, printed: str, key: str) -> tuple[str, str]:
        """Value and source, as --print-config shows them."""
        for line in printed.splitlines():
            found = re.fullmatch(rf"{re.escape(key)}  +(\S.*?)  +(\S.*)", line)
            if found:
                return found.group(1), found.group(2)
        self.fail(f"{key} is not in:\n{printed}")

    def test_flags_beat_variables_beat_the_file(self) -> None:
        name = self.write("booblik.port=1\nbooblik.data.dir=/f\nbooblik.limit.connections=7\n")
        run = self.run_serve("--config", name, "--print-config", "--port=3", BOOBLIK_PORT="2", BOOBLIK_DATA_DIR="/e")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.shown(run.stdout, "booblik.port"), ("3", "flag --port"))
        self.assertEqual(self.shown(run.stdout, "booblik.data.dir"), ("/e", "environment BOOBLIK_DATA_DIR"))
        self.assertEqual(self.shown(run.stdout, "booblik.limit.connections"), ("7", f"file {name}:3"))
        self.assertEqual(self.shown(run.stdout, "booblik.topics"), ("default:1", "default"))
        self.assertFalse((self.directory / "data").exists(), "--print-config must not start anything")

    def test_the_example_file_is_right(self) -> None:
        run = self.run_serve("--config", str(EXAMPLE), "--print-config")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(self.shown(run.stdout, "booblik.topics")[0], "clicks:1,orders:3")

    def test_every_problem_is_told_at_once_and_nothing_is_started(self) -> None:
        name = self.write("booblik.segment.capacity.bytes=-1\nbooblik.flush=1\nbooblik.topics=a:1,a:2\n")
        run = self.run_serve("--config", name, "--port", "99999", BOOBLIK_RETENTION_MILLIS="0", BOOBLIK_PROT="1")
        self.assertEqual(run.returncode, 2)
        self.assertEqual(run.stdout, "")
        for words in (
            "6 problems",
            f"booblik.segment.capacity.bytes (file {name}:1): \"-1\"",
            f"{name}:2: unknown key \"booblik.flush\"",
            "topic \"a\" is there twice",
            "environment BOOBLIK_RETENTION_MILLIS: \"0\"",
            "unknown environment variable BOOBLIK_PROT (did you mean BOOBLIK_PORT?)",
            "flag --port: \"99999\" is not possible; write 0..65535",
        ):
            self.assertIn(words, run.stderr)
        self.assertFalse((self.directory / "data").exists())

    def test_wrong_usage(self) -> None:
        for flags, words in (
            (["--prot=1"], "unknown option --prot (did you mean --port?)"),
            (["extra"], "unexpected argument 'extra'"),
            (["--config", "nowhere.properties"], "cannot read nowhere.properties: No such file or directory"),
            (["--port"], "--port"),
        ):
            with self.subTest(flags=flags):
                run = self.run_serve(*flags)
                self.assertEqual((run.returncode, run.stdout), (2, ""), run.stderr)
                self.assertIn(words, run.stderr)

    def test_the_last_of_equal_flags_counts(self) -> None:
        run = self.run_serve("--port=1", "--print-config", "--port=2")
        self.assertEqual(self.shown(run.stdout, "booblik.port"), ("2", "flag --port"))

    def test_a_broker_address_for_the_other_commands_is_no_setting(self) -> None:
        run = self.run_serve("--print-config", BOOBLIK_BROKER="127.0.0.1:9092")
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_keys_of_the_original_without_effect(self) -> None:
        name = self.write("booblik.segment.mode=MMAP\nbooblik.transport=NIO\nbooblik.fetch.mode=ZERO_COPY\n")
        run = self.run_serve("--config", name, "--print-config")
        self.assertEqual(run.returncode, 0)
        self.assertEqual(run.stderr.count("has no effect here"), 3)

    def test_help_names_every_spelling(self) -> None:
        run = self.run_serve("--help")
        self.assertEqual(run.returncode, 0)
        for words in ("--segment-capacity-bytes", "--limit-connections", "Examples:", "BOOBLIK_DATA_DIR"):
            self.assertIn(words, run.stdout)


if __name__ == "__main__":
    unittest.main()
