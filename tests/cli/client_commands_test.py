"""`booblik produce`, `consume`, `topics` and `health` as processes, against a broker in memory."""

import base64
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "process"))

from reference_broker import ReferenceBroker  # noqa: E402

PROGRAM = os.environ["BOOBLIK_PROGRAM"]
OK, REFUSED, USAGE, CONNECTION = 0, 1, 2, 3
SECONDS = 60


class ClientCommands(unittest.TestCase):
    def setUp(self):
        self.broker = ReferenceBroker({"orders": 3, "one": 1, "больше": 1})
        self.addCleanup(self.broker.close)
        self.environment = {**os.environ, "BOOBLIK_BROKER": f"127.0.0.1:{self.broker.port}"}

    def run_program(self, *arguments, stdin=b"", code=OK):
        done = subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, env=self.environment,
                              timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stdout, done.stderr.decode()

    def start_program(self, *arguments):
        process = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self.environment)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait(SECONDS)
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()

    def consume(self, topic, *arguments):
        return self.run_program("consume", topic, "--exit-at-end", *arguments)[0]


class Produce(ClientCommands):
    def test_a_record_per_line_round_robin(self):
        _, summary = self.run_program("produce", "orders", stdin=b"a\nb\nc\nd")
        self.assertIn("4 records (4 bytes) to orders", summary)
        self.assertIn("all written", summary)
        out = self.consume("orders", "--format", "%p:%o:%s ")
        self.assertEqual(out, b"0:0:a 0:1:d 1:0:b 2:0:c ")

    def test_every_ack_policy(self):
        for acks, said in (("none", "handed over"), ("written", "all written"), ("forced", "all forced")):
            self.assertIn(said, self.run_program("produce", "one", "--acks", acks, stdin=b"x")[1])
        self.assertEqual(self.consume("one"), b"x\nx\nx\n")

    def test_many_lines_come_back_byte_for_byte(self):
        lines = b"".join(b"%d %s\n" % (i, b"x" * (i % 97)) for i in range(20_000))
        self.run_program("produce", "one", stdin=lines)
        self.assertEqual(self.consume("one"), lines)

    def test_empty_lines_are_an_error_or_skipped(self):
        _, error = self.run_program("produce", "one", stdin=b"a\n\nb\n", code=USAGE)
        self.assertIn("line 2", error)
        self.assertIn("--skip-empty", error)
        self.assertEqual(self.consume("one"), b"a\n")  # what stood before is written
        _, summary = self.run_program("produce", "one", "--skip-empty", stdin=b"\nb\n\n")
        self.assertIn("2 empty skipped", summary)
        self.assertEqual(self.consume("one"), b"a\nb\n")

    def test_length_prefixed_and_whole_inputs(self):
        values = [b"\x00\n", b"zwei", b"\xff" * 300]
        framed = b"".join(struct.pack(">i", len(value)) + value for value in values)
        self.run_program("produce", "one", "--input", "length-prefixed", stdin=framed)
        self.run_program("produce", "one", "--input", "whole", stdin=b"all\nof it\n")
        expected = [value.hex().encode() for value in [*values, b"all\nof it\n"]]
        self.assertEqual(self.consume("one", "--format", "%x ").split(), expected)
        _, error = self.run_program("produce", "one", "--input", "length-prefixed", stdin=framed[:-1], code=USAGE)
        self.assertIn("record 3", error)

    def test_files_in_turn(self):
        folder = pathlib.Path(os.environ["BOOBLIK_TEST_DIR"])
        paths = [folder / f"client_commands_{os.getpid()}_{i}" for i in range(2)]
        for i, path in enumerate(paths):
            self.addCleanup(path.unlink)
            path.write_bytes(b"file %d\nsecond line\n" % i)
        files = [word for path in paths for word in ("--file", str(path))]
        self.run_program("produce", "one", *files)
        self.assertEqual(self.consume("one"), b"file 0\nsecond line\nfile 1\nsecond line\n")
        self.run_program("produce", "one", "--input", "whole", *files)
        self.assertEqual(self.consume("one", "--offset", "-2", "--format", "%S,"), b"19,19,")
        _, error = self.run_program("produce", "one", "--file", str(folder / "nothing here"), code=USAGE)
        self.assertIn("nothing here", error)

    def test_keys_choose_the_partition(self):
        # Partitions over 3 from conformance/vectors: user-1 and user-0 differ.
        vectors = pathlib.Path(__file__).parents[2].joinpath("conformance/vectors/partitioner.tsv")
        for line in vectors.read_text().splitlines():
            if not line.startswith("ascii-user"):
                continue
            key, partition = bytes.fromhex(line.split("\t")[1]).decode(), line.split("\t")[5]
            by_field = ["--key-delimiter", ":"]
            for flags, line in (["--key", key], "fixed"), (by_field, f"{key}:field"), ([*by_field, "--keep-key"], f"{key}:kept"):
                _, summary = self.run_program("produce", "orders", *flags, stdin=line.encode())
                self.assertRegex(summary, r"1 record \(\d+ bytes\) to orders .*: all written")
            last = self.consume("orders", "--partition", partition, "--offset", "-3")
            stored = [bytes(log.segments[0].data) for log in self.broker.logs["orders"]]
            self.assertEqual(last, f"fixed\nfield\n{key}:kept\n".encode(), stored)
        _, error = self.run_program("produce", "orders", "--key-delimiter", ":", stdin=b"no key", code=USAGE)
        self.assertIn("line 1", error)

    def test_a_fixed_partition(self):
        self.run_program("produce", "orders", "--partition", "2", stdin=b"a\nb\n")
        self.assertEqual(self.consume("orders", "--format", "%p%s "), b"2a 2b ")
        self.run_program("produce", "orders", "--partition", "3", stdin=b"a", code=REFUSED)

    def test_what_the_broker_refuses_is_told(self):
        self.run_program("produce", "missing", stdin=b"x", code=REFUSED)
        with ReferenceBroker({"small": 1}, segment_bytes=100) as small:
            self.environment["BOOBLIK_BROKER"] = f"127.0.0.1:{small.port}"
            _, error = self.run_program("produce", "small", "--batch-records", "1", stdin=b"ok\n" + b"x" * 200, code=REFUSED)
        self.assertIn("RECORD_TOO_LARGE", error)
        self.assertIn("1 written, 1 refused", error)

    def test_a_pipe_that_stays_open_is_sent_as_it_comes(self):
        producer = self.start_program("produce", "one")
        consumer = self.start_program("consume", "one")
        for line in (b"first\n", b"second\n"):
            producer.stdin.write(line)
            producer.stdin.flush()
            self.assertEqual(consumer.stdout.readline(), line)
        producer.send_signal(signal.SIGINT)  # ends the input in good order
        self.assertEqual(producer.wait(SECONDS), OK)
        self.assertIn(b"2 records", producer.stderr.read())
        consumer.send_signal(signal.SIGINT)
        self.assertEqual(consumer.wait(SECONDS), OK)
        self.assertEqual(consumer.stderr.read(), b"")

    def test_a_broker_that_goes_away_is_a_connection_error(self):
        producer = self.start_program("produce", "one", "--reconnect-ms", "0")
        producer.stdin.write(b"first\n")
        producer.stdin.flush()
        deadline = time.monotonic() + SECONDS
        while not self.consume("one") and time.monotonic() < deadline:
            time.sleep(0.01)
        self.broker.close()
        # What reaches a closing broker in time is still answered, so its sessions have to be over.
        while self.broker.sessions and time.monotonic() < deadline:
            time.sleep(0.01)
        producer.stdin.write(b"second\n" * 10)
        producer.stdin.close()
        self.assertEqual(producer.wait(SECONDS), CONNECTION)


class Consume(ClientCommands):
    def test_where_it_starts_and_ends(self):
        self.run_program("produce", "one", stdin=b"".join(b"%d\n" % i for i in range(10)))
        self.assertEqual(self.consume("one", "--offset", "8"), b"8\n9\n")
        self.assertEqual(self.consume("one", "--offset", "-3"), b"7\n8\n9\n")
        self.assertEqual(self.consume("one", "--offset", "-100", "--count", "2"), b"0\n1\n")
        self.assertEqual(self.consume("one", "--offset", "end"), b"")
        self.assertEqual(self.run_program("consume", "one", "--count", "3")[0], b"0\n1\n2\n")

    def test_following_all_partitions_shows_what_comes(self):
        consumer = self.start_program("consume", "orders", "--count", "3", "--format", "%p%s\n")
        deadline = time.monotonic() + SECONDS
        while len(self.broker.sessions) < 3 and time.monotonic() < deadline:  # a held FETCH for each partition
            time.sleep(0.01)
        self.run_program("produce", "orders", stdin=b"a\nb\nc\n")
        self.assertEqual(consumer.wait(SECONDS), OK)
        self.assertEqual(sorted(consumer.stdout.read().split()), [b"0a", b"1b", b"2c"])

    def test_json_lines(self):
        self.run_program("produce", "больше", "--input", "length-prefixed",
                         stdin=b"\x00\x00\x00\x02\xff\xfe" + struct.pack(">i", 4) + '"я"'.encode())
        first, second = map(json.loads, self.consume("больше", "--json").splitlines())
        self.assertEqual(base64.b64decode(first["value_base64"]), b"\xff\xfe")
        self.assertEqual(second, {"topic": "больше", "partition": 0, "offset": 1, "value": '"я"'})

    def test_a_record_larger_than_max_bytes_is_named(self):
        self.run_program("produce", "one", "--input", "whole", stdin=b"x" * 5000)
        for max_bytes in ("100", "2", "4KiB"):
            _, error = self.run_program("consume", "one", "--max-bytes", max_bytes, code=REFUSED)
            self.assertIn("one-0 @ 0", error)
            self.assertIn("5000 bytes", error)
            self.assertIn("--max-bytes 5008", error)
        self.assertEqual(len(self.consume("one", "--max-bytes", "5008")), 5001)

    def test_positions_outside_the_log(self):
        _, error = self.run_program("consume", "one", "--offset", "5", code=REFUSED)
        self.assertIn("log was reset below my position", error)
        self.run_program("consume", "one", "--offset", "5", "--exit-at-end", code=REFUSED)

    def test_a_closed_pipe_ends_quietly(self):
        self.run_program("produce", "one", stdin=b"0123456789\n" * 50_000)
        for arguments in (["--exit-at-end"], []):
            consumer = self.start_program("consume", "one", *arguments)
            self.assertEqual(consumer.stdout.readline(), b"0123456789\n")
            consumer.stdout.close()
            self.assertEqual(consumer.wait(SECONDS), OK)
            self.assertEqual(consumer.stderr.read(), b"")

    def test_corrupt_bytes_are_never_printed(self):
        self.run_program("produce", "one", stdin=b"good\nbad\nbehind")
        data = self.broker.logs["one"][0].segments[0].data
        data[data.index(b"bad")] ^= 1
        out, error = self.run_program("consume", "one", "--exit-at-end", code=REFUSED)
        self.assertEqual(out, b"good\n")
        self.assertIn("one-0 @ 1", error)
        self.assertIn("checksum", error)


class Others(ClientCommands):
    def test_topics(self):
        self.run_program("produce", "one", stdin=b"a\nb\n")
        table = self.run_program("topics")[0].decode().splitlines()
        self.assertEqual(table[0].split(), ["TOPIC", "PARTITION", "START", "END", "RECORDS"])
        self.assertIn(["one", "0", "0", "2", "2"], [line.split() for line in table])
        self.assertEqual(len(table), 6)
        topics = {topic["name"]: topic["partitions"] for topic in json.loads(self.run_program("topics", "--json")[0])}
        self.assertEqual(topics["one"], [{"partition": 0, "logStartOffset": 0, "highWatermark": 2, "records": 2}])
        self.assertEqual(len(topics["orders"]), 3)

    def test_health(self):
        self.assertIn(b"3 topic(s), 5 partition(s)", self.run_program("health")[0])
        self.run_program("health", "--broker", "127.0.0.1:1", code=CONNECTION)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            started = time.monotonic()
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            _, error = self.run_program("health", "--broker", address, "--timeout-ms", "200", code=CONNECTION)
            self.assertIn("did not answer in time", error)
            self.assertLess(time.monotonic() - started, 10)

    def test_a_server_of_another_kind_is_refused(self):
        def serve(listener):
            peer, _ = listener.accept()
            with peer:
                peer.recv(100)
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=serve, args=(listener,), daemon=True).start()
            address = f"127.0.0.1:{listener.getsockname()[1]}"
            self.run_program("topics", "--broker", address, code=CONNECTION)

    def test_wrong_usage(self):
        for arguments in (["produce"], ["consume"], ["produce", "one", "--acks", "maybe"], ["produce", "a b"],
                          ["produce", "one", "--input", "xml"], ["produce", "one", "--key", "a", "--partition", "1"],
                          ["produce", "one", "--keep-key"], ["produce", "one", "--in-flight", "0"],
                          ["consume", "one", "--offset", "middle"], ["consume", "one", "--partition", "-1"],
                          ["consume", "one", "--max-bytes", "0"], ["consume", "one", "--max-bytes", "9MiB"],
                          ["consume", "one", "--format", "%q"], ["consume", "one", "--follow", "--exit-at-end"],
                          ["consume", "one", "--count", "0"], ["consume", "one", "--json", "--format", "%s"],
                          ["topics", "--broker", "host:port"], ["topics", "--rates", "0"], ["completion"], ["completion", "tcsh"],
                          ["consume", "one", "--position-store"], ["produce", "one", "--reconnect-ms", "-1"], ["health", "--timeout-ms", "0"]):
            with self.subTest(arguments):
                _, error = self.run_program(*arguments, code=USAGE)
                self.assertIn("--help", error)

    def test_every_help_has_examples(self):
        for command in ("produce", "consume", "topics", "health", "examples", "completion", "version"):
            out, _ = self.run_program(command, "--help")
            self.assertIn("Examples:\n  ", out.decode())
            self.assertIn(f"booblik {command}", out.decode().split("Examples:")[1])


if __name__ == "__main__":
    unittest.main()
