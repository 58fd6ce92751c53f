"""The client commands against the real broker: restarts under load, slow and stuck readers, stored positions, the
examples, completion, and what is drawn on a terminal only."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import termios
import threading
import time
import unittest
from typing import IO

import harness
from harness import PROGRAM, Broker, wait_until

OK, REFUSED, CONNECTION = 0, 1, 3
SECONDS = 60


class ClientCommandTest(harness.ProcessTest):
    def environment(self, broker: Broker, **more: str) -> dict[str, str]:
        path = f"{os.path.dirname(PROGRAM)}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "BOOBLIK_BROKER": f"{broker.host}:{broker.port}", **more}

    def run_client(self, broker: Broker, *arguments: str, stdin: bytes = b"", code: int = OK) -> tuple[bytes, str]:
        done = subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, timeout=SECONDS,
                              env=self.environment(broker), cwd=self.directory)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stdout, done.stderr.decode()

    def start_client(self, broker: Broker, *arguments: str, **options: object) -> subprocess.Popen[bytes]:
        settings = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        process = subprocess.Popen([PROGRAM, *arguments], env=self.environment(broker), cwd=self.directory,
                                   **settings)  # type: ignore[call-overload]
        self.addCleanup(self.end, process)
        return process

    def end(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            process.kill()
        process.wait(SECONDS)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None and not stream.closed:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass

    def log_end(self, broker: Broker, topic: str = "a") -> int:
        topics = json.loads(self.run_client(broker, "topics", "--json")[0])
        return sum(p["highWatermark"] for t in topics if t["name"] == topic for p in t["partitions"])


class Restarts(ClientCommandTest):
    def test_a_running_producer_and_consumer_survive_them_and_tell_every_outcome(self) -> None:
        broker = self.serve("a:1")
        port = broker.port
        producer = self.start_client(broker, "produce", "a", "--batch-records", "20")
        consumer = self.start_client(broker, "consume", "a")
        assert producer.stdin and consumer.stdout
        lines: list[bytes] = []
        reader = threading.Thread(target=lambda: lines.extend(consumer.stdout))  # type: ignore[arg-type]
        reader.start()
        feeding = threading.Event()
        feeding.set()
        fed = 0

        def feed() -> None:
            nonlocal fed
            assert producer.stdin
            while feeding.is_set():
                producer.stdin.write(b"".join(b"%08d\n" % number for number in range(fed, fed + 50)))
                producer.stdin.flush()
                fed += 50
                time.sleep(0.001)  # a rate, not a synchronisation

        feeder = threading.Thread(target=feed)
        feeder.start()
        for kill in (True, False, True):
            before = len(lines)
            wait_until(lambda: len(lines) > before + 500, "the consumer gets on")
            if kill:
                broker.kill()
            else:
                self.assertEqual(broker.stop(), 0)
            broker = self.serve("a:1", port=port)
        before = len(lines)
        wait_until(lambda: len(lines) > before + 500, "the consumer gets on")
        feeding.clear()
        feeder.join(SECONDS)
        producer.stdin.close()
        code = producer.wait(SECONDS)
        said = producer.stderr.read().decode()  # type: ignore[union-attr]
        summary = re.search(r"(\d+) records \(.*?: (?:all written|(\d+) written)(?:, (\d+) of unknown)?", said)
        assert summary, said
        taken, unknown = int(summary[1]), int(summary[3] or 0)
        written = int(summary[2] or taken)
        self.assertEqual(taken, fed, said)
        self.assertEqual(written + unknown, taken, said)
        self.assertEqual(code, CONNECTION if unknown else OK, said)
        self.assertIn("connected again", said)
        end = self.log_end(broker)
        self.assertLessEqual(written, end)
        self.assertLessEqual(end, taken)
        wait_until(lambda: len(lines) >= end, "the consumer has everything")
        consumer.send_signal(signal.SIGINT)
        self.assertEqual(consumer.wait(SECONDS), OK)
        reader.join(SECONDS)
        numbers = [int(line) for line in lines]
        self.assertEqual(len(numbers), end)
        self.assertTrue(all(a < b for a, b in zip(numbers, numbers[1:])), "once, and in order")

    def test_without_reconnecting_a_loss_is_the_end(self) -> None:
        broker = self.serve("a:1")
        consumer = self.start_client(broker, "consume", "a", "--reconnect-ms", "0")
        producer = self.start_client(broker, "produce", "a", "--reconnect-ms", "0")
        assert producer.stdin and consumer.stdout
        producer.stdin.write(b"x\n")
        producer.stdin.flush()
        self.assertEqual(consumer.stdout.readline(), b"x\n")
        broker.kill()
        self.assertEqual(consumer.wait(SECONDS), CONNECTION)
        producer.stdin.write(b"y\n")
        producer.stdin.close()
        self.assertEqual(producer.wait(SECONDS), CONNECTION)

    def test_a_signal_ends_the_wait_for_a_broker(self) -> None:
        broker = self.serve("a:1")
        consumer = self.start_client(broker, "consume", "a")
        producer = self.start_client(broker, "produce", "a")
        assert producer.stdin and consumer.stdout and consumer.stderr and producer.stderr
        producer.stdin.write(b"x\n")
        producer.stdin.flush()
        self.assertEqual(consumer.stdout.readline(), b"x\n")
        broker.kill()
        self.assertIn(b"connecting again", consumer.stderr.readline())
        producer.stdin.write(b"y\n")
        producer.stdin.flush()
        self.assertIn(b"connecting again", producer.stderr.readline())
        for process, code in ((consumer, OK), (producer, CONNECTION)):
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(10), code)
        self.assertIn(b"1 not sent", producer.stderr.read())


class Readers(ClientCommandTest):
    def test_a_slow_reader_loses_nothing(self) -> None:
        broker = self.serve("a:1")
        count = 400_000
        consumer = self.start_client(broker, "consume", "a", "--count", str(count))
        text = b"".join(b"%d\n" % number for number in range(count))
        self.run_client(broker, "produce", "a", stdin=text)  # all of it is there before the first byte is taken
        assert consumer.stdout
        got = bytearray()
        while block := os.read(consumer.stdout.fileno(), 4096 if len(got) < 200_000 else 1 << 20):
            got += block
        self.assertEqual(bytes(got), text)
        self.assertEqual(consumer.wait(SECONDS), OK)

    def test_a_signal_ends_a_consumer_whose_reader_is_stuck(self) -> None:
        broker = self.serve("orders:3")
        self.run_client(broker, "produce", "orders", stdin=b"0123456789\n" * 100_000)
        for arguments in (["--exit-at-end"], []):
            consumer = self.start_client(broker, "consume", "orders", *arguments)
            assert consumer.stdout
            self.assertEqual(os.read(consumer.stdout.fileno(), 11), b"0123456789\n")
            wait_until(lambda: self.waiting_bytes(consumer.stdout) > 60_000, "the pipe is full")
            consumer.send_signal(signal.SIGTERM)
            self.assertEqual(consumer.wait(15), OK)

    @staticmethod
    def waiting_bytes(stream: IO[bytes]) -> int:
        return int.from_bytes(fcntl.ioctl(stream.fileno(), termios.FIONREAD, b"\0" * 4), sys.byteorder)


class Positions(ClientCommandTest):
    def test_the_next_run_goes_on_where_the_last_one_stopped(self) -> None:
        broker = self.serve("orders:3,a:1")
        store = ["--position-store", "positions"]
        self.run_client(broker, "produce", "orders", stdin=b"".join(b"%d\n" % n for n in range(30)))
        first, _ = self.run_client(broker, "consume", "orders", "--exit-at-end", *store)
        self.assertEqual(sorted(map(int, first.split())), list(range(30)))
        self.assertEqual(self.run_client(broker, "consume", "orders", "--exit-at-end", *store)[0], b"")
        self.run_client(broker, "produce", "orders", stdin=b"30\n31\n")
        again, _ = self.run_client(broker, "consume", "orders", "--exit-at-end", *store)
        self.assertEqual(sorted(map(int, again.split())), [30, 31])
        text = (self.directory / "positions").read_text()
        self.assertRegex(text, r"^booblik-positions 1\norders 0 11\norders 1 11\norders 2 10\ncrc32c [0-9a-f]{8}\n$")

    def test_count_and_a_signal_store_what_was_printed(self) -> None:
        broker = self.serve("a:1")
        self.run_client(broker, "produce", "a", stdin=b"0\n1\n2\n3\n4\n")
        store = ["--position-store", "positions"]
        self.assertEqual(self.run_client(broker, "consume", "a", "--count", "2", *store)[0], b"0\n1\n")
        consumer = self.start_client(broker, "consume", "a", *store)
        assert consumer.stdout
        self.assertEqual([consumer.stdout.readline() for _ in range(3)], [b"2\n", b"3\n", b"4\n"])
        consumer.send_signal(signal.SIGINT)
        self.assertEqual(consumer.wait(SECONDS), OK)
        self.assertIn("a 0 5\n", (self.directory / "positions").read_text())

    def test_a_killed_run_repeats_records_and_misses_none(self) -> None:
        broker = self.serve("a:1")
        self.run_client(broker, "produce", "a", stdin=b"".join(b"%d\n" % n for n in range(300_000)))
        store = ["--position-store", "positions"]
        consumer = self.start_client(broker, "consume", "a", *store)
        assert consumer.stdout
        got = b""
        while len(got) < 500_000:
            got += os.read(consumer.stdout.fileno(), 65536)
        consumer.kill()
        got += consumer.stdout.read()
        seen = {int(line) for line in got.split(b"\n")[:-1]}
        rest, _ = self.run_client(broker, "consume", "a", "--exit-at-end", *store)
        self.assertEqual(seen | {int(line) for line in rest.split()}, set(range(300_000)))

    def test_a_damaged_store_is_an_error_and_never_the_beginning(self) -> None:
        broker = self.serve("a:1")
        self.run_client(broker, "produce", "a", stdin=b"0\n1\n")
        store = self.directory / "positions"
        for text in ("", "booblik-positions 1\na 0 1\ncrc32c 00000000\n", "something else"):
            store.write_text(text)
            out, error = self.run_client(broker, "consume", "a", "--exit-at-end", "--position-store", "positions",
                                         code=REFUSED)
            self.assertEqual(out, b"")
            self.assertIn("positions: ", error)
            self.assertIn("remove it to begin anew", error)
            self.assertEqual(store.read_text(), text)

    def test_a_position_that_is_no_longer_there_is_named(self) -> None:
        broker = self.serve("a:1")
        self.run_client(broker, "produce", "a", stdin=b"0\n1\n2\n")
        self.run_client(broker, "consume", "a", "--exit-at-end", "--position-store", "positions")
        port = broker.port
        broker.kill()
        for file in (self.data / "a-0").iterdir():
            file.unlink()
        broker = self.serve("a:1", port=port)
        _, error = self.run_client(broker, "consume", "a", "--exit-at-end", "--position-store", "positions",
                                   code=REFUSED)
        self.assertIn("log was reset below my position", error)
        self.assertIn("the position is from positions", error)


class Commands(ClientCommandTest):
    def test_every_example_runs(self) -> None:
        broker = self.serve("default:1")
        text = self.run_client(broker, "examples")[0].decode()
        blocks = [block for block in text.split("\n\n") if "\nbooblik" in block or "\nprintf" in block or "\necho" in block]
        self.assertGreater(len(blocks), 8)
        for block in blocks:
            with self.subTest(block):
                done = subprocess.run(["sh", "-eu", "-c", block], capture_output=True, timeout=SECONDS,
                                      env=self.environment(broker), cwd=self.directory)
                self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual((self.directory / "first.txt").read_bytes().count(b"hello\n"), 1)

    def test_rates(self) -> None:
        broker = self.serve("a:1,orders:2")
        started = time.monotonic()
        looking = self.start_client(broker, "topics", "--rates", "0.5", "--json")
        while looking.poll() is None:
            self.run_client(broker, "produce", "a", stdin=b"x\n" * 100)
        self.assertGreaterEqual(time.monotonic() - started, 0.5)
        assert looking.stdout
        topics = {topic["name"]: topic["partitions"] for topic in json.load(looking.stdout)}
        self.assertGreater(topics["a"][0]["recordsPerSecond"], 0)
        self.assertEqual([p["recordsPerSecond"] for p in topics["orders"]], [0, 0])
        table = self.run_client(broker, "topics", "--rates")[0].decode().splitlines()
        self.assertEqual(table[0].split()[-1], "RECORDS/S")
        self.assertEqual(table[1].split()[-1], "0.0")
        self.assertNotIn("RECORDS/S", self.run_client(broker, "topics")[0].decode())
        self.run_client(broker, "topics", "--rates", "soon", code=2)

    def test_help_and_completion_know_the_same(self) -> None:
        broker = self.serve("a:1")
        names = re.findall(r"^  (\S+) ", self.run_client(broker, "--help")[0].decode().split("Subcommands:")[-1], re.MULTILINE)
        names = [name for name in names if re.fullmatch(r"[a-z][a-z-]*", name)]
        self.assertIn("consume", names)
        files = {shell: self.run_client(broker, "completion", shell)[0].decode() for shell in ("bash", "zsh", "fish")}
        for name in names:
            flags = set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", self.flag_column(broker, name)))
            self.assertIn("help", flags)
            for shell, text in files.items():
                self.assertRegex(text, rf"(?m)\b{name}\b", shell)
                for flag in flags:
                    spelled = f"-l {flag} " if shell == "fish" else f"--{flag}"
                    self.assertIn(spelled, text, f"{shell}: {name} --{flag}")

    def flag_column(self, broker: Broker, name: str) -> str:
        lines = self.run_client(broker, name, "--help")[0].decode().split("Examples:")[0].splitlines()
        return "\n".join(line for line in lines if re.match(r"\s+-", line))

    def test_bash_completes(self) -> None:
        broker = self.serve("a:1")
        script = self.run_client(broker, "completion", "bash")[0].decode()

        def complete(*words: str) -> list[str]:
            quoted = " ".join(shlex.quote(word) for word in words)
            asked = f"{script}\nCOMP_WORDS=({quoted})\nCOMP_CWORD={len(words) - 1}\n_booblik\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
            done = subprocess.run(["bash", "--norc", "-u", "-c", asked], capture_output=True, text=True, timeout=SECONDS,
                                  cwd=self.directory)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return done.stdout.split()

        self.assertEqual(complete("booblik", "cons"), ["consume"])
        self.assertIn("--help", complete("booblik", "--"))
        self.assertEqual(complete("booblik", "consume", "--position"), ["--position-store"])
        self.assertEqual(complete("booblik", "produce", "--acks", ""), ["none", "written", "forced"])
        self.assertEqual(complete("booblik", "produce", "t", "--acks", "f"), ["forced"])
        self.assertEqual(complete("booblik", "produce", "--key", ""), [])
        (self.directory / "input.txt").touch()
        self.assertEqual(complete("booblik", "produce", "--file", "inp"), ["input.txt"])

    def test_bars_and_colours_are_for_terminals(self) -> None:
        broker = self.serve("a:1")
        path = self.directory / "input.txt"
        path.write_bytes(b"0123456789" * 10 + b"\n")
        path.write_bytes(path.read_bytes() * 250_000)  # 25 MB, a barrier for each record: longer than a draw
        arguments = ["produce", "a", "--file", str(path), "--batch-records", "1", "--acks", "forced", "--in-flight", "1"]
        shown = self.on_terminal(broker, arguments, stop_at=b"% [")
        self.assertIn(b"MiB/s", shown)
        self.assertIn(b"\x1b[36m", shown)
        shown = self.on_terminal(broker, arguments, stop_at=b"% [", NO_COLOR="1")
        self.assertNotIn(b"\x1b[36m", shown)
        shown = self.on_terminal(broker, ["consume", "no-such-topic"])
        self.assertIn(b"\x1b[1;31mbooblik consume:\x1b[0m", shown)
        self.assertNotIn(b"\x1b", self.on_terminal(broker, ["consume", "no-such-topic"], NO_COLOR="1"))
        self.assertNotIn(b"\x1b", self.on_terminal(broker, ["consume", "no-such-topic"], TERM="dumb"))
        _, error = self.run_client(broker, "consume", "no-such-topic", code=REFUSED)
        self.assertNotIn("\x1b", error)

    def on_terminal(self, broker: Broker, arguments: list[str], stop_at: bytes = b"", **variables: str) -> bytes:
        """What it prints on a terminal until it ends, or until `stop_at` was seen and it was killed."""
        ours, theirs = pty.openpty()
        environment = self.environment(broker, **{"TERM": "xterm", **variables})
        if "NO_COLOR" not in variables:
            environment.pop("NO_COLOR", None)
        process = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs,
                                   env=environment, cwd=self.directory)
        self.addCleanup(self.end, process)
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 4096):
                shown += block
                if stop_at and stop_at in shown:
                    process.kill()
                    stop_at = b""
        except OSError:
            pass  # the terminal has no other end any more
        os.close(ours)
        process.wait(SECONDS)
        return shown


if __name__ == "__main__":
    unittest.main()
