"""Start, refusal to start, and end of `booblik serve`."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
import unittest

from harness import Broker, ProcessTest, wait_until
from booblik_socket import Connection


class Start(ProcessTest):
    def test_the_start_up_block(self) -> None:
        broker = self.serve("orders:2,a:1", limit_connections=50)
        lines = broker.output.text().splitlines()
        self.assertRegex(lines[0], r"^booblik \d+\.\d+\.\d+")
        self.assertTrue(any(re.fullmatch(r"booblik\.limit\.connections +50 +flag --limit-connections", line) for line in lines), lines)
        self.assertEqual(
            lines[-4:-1],
            [
                "a-0: offsets 0..0, 1 segment(s), 0 bytes",
                "orders-0: offsets 0..0, 1 segment(s), 0 bytes",
                "orders-1: offsets 0..0, 1 segment(s), 0 bytes",
            ],
        )
        self.assertEqual(lines[-1], f"booblik listening on 127.0.0.1:{broker.port}")

    def test_a_second_broker_on_the_directory_names_it_and_the_process(self) -> None:
        first = self.serve()
        began = time.monotonic()
        second = self.serve(expect_start=False)
        self.assertEqual(second.wait(), 1)
        self.assertLess(time.monotonic() - began, 2)
        self.assertIn(str(self.data), second.output.text())
        self.assertIn(str(first.pid), second.output.text())
        self.assertEqual(len(second.output.text().splitlines()), 1)
        first.connect().close()

    def test_a_port_that_is_taken(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            broker = self.serve(expect_start=False, port=port)
            self.assertEqual(broker.wait(), 1)
        text = broker.output.text()
        self.assertIn(f"127.0.0.1:{port}", text)
        self.assertIn("--port", text)
        # The refused start left nothing behind that hinders the next.
        self.serve().connect().close()

    def test_a_data_directory_that_cannot_be(self) -> None:
        file = self.directory / "file"
        file.write_text("x")
        for path, words in ((file, "is no directory"), (self.directory / "no/where", "No such file or directory")):
            with self.subTest(path=path):
                broker = self.serve(expect_start=False, data_dir=path)
                self.assertEqual(broker.wait(), 1)
                self.assertIn(words, broker.output.text())
                self.assertIn("--data-dir", broker.output.text())

    def test_fewer_partitions_than_are_on_disk(self) -> None:
        self.serve("orders:3").stop()
        broker = self.serve("orders:2", expect_start=False)
        self.assertEqual(broker.wait(), 1)
        self.assertIn("booblik.topics", broker.output.text())
        self.assertIn("write orders:3", broker.output.text())
        # More is fine, and so is leaving the topic out.
        self.assertEqual(self.serve("orders:4").stop(), 0)
        self.assertEqual(self.serve("other:1").stop(), 0)

    def test_an_address_of_another_machine(self) -> None:
        broker = self.serve(expect_start=False, bind_address="192.0.2.1")  # RFC 5737: nobody has it
        self.assertEqual(broker.wait(), 1)
        self.assertIn("192.0.2.1", broker.output.text())
        self.assertIn("--bind-address", broker.output.text())

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_data_directory_that_is_read_only(self) -> None:
        self.data.mkdir(mode=0o500)
        broker = self.serve(expect_start=False)
        self.assertEqual(broker.wait(), 1)
        self.assertIn("cannot write in", broker.output.text())

    def test_few_descriptors_mean_fewer_connections_or_a_refusal(self) -> None:
        broker = self.serve(descriptors=256)
        self.assertRegex(broker.output.text(), r"takes \d+ connections and not 1000")
        self.assertEqual(broker.stop(), 0)
        refused = self.serve(descriptors=128, expect_start=False)
        self.assertEqual(refused.wait(), 1)
        self.assertIn("may open 128 files", refused.output.text())

    def test_a_warning_when_other_machines_can_reach_it(self) -> None:
        broker = self.serve(bind_address="0.0.0.0")
        self.assertIsNotNone(broker.output.wait_for("There is no authentication", 10))


class End(ProcessTest):
    def test_sigterm_and_sigint_end_in_good_order(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                broker = self.serve()
                connection = broker.connect()
                broker.signal(number)
                self.assertEqual(broker.wait(), 0)
                self.assertIn("stopped in good order", broker.output.text())
                connection.close()

    def stall(self, broker: Broker) -> Connection:
        """A peer that takes nothing of its large answers, so that a stop has somebody to wait for."""
        connection = broker.connect(receive_buffer=4096)
        connection.expect_produced(connection.send_produce("a", [os.urandom(1 << 20)]))
        self.addCleanup(connection.close)
        for _ in range(16):
            connection.send_fetch("a", 0)
        return connection

    def test_a_stop_is_bounded(self) -> None:
        broker = self.serve(limit_shutdown_millis=500, limit_send_millis=60_000)
        self.stall(broker)
        began = time.monotonic()
        broker.signal(signal.SIGTERM)
        self.assertEqual(broker.wait(), 0, "what a stalled peer was not sent is no failure of the broker")
        self.assertLess(time.monotonic() - began, 10)

    def test_a_second_signal_ends_at_once(self) -> None:
        broker = self.serve(limit_shutdown_millis=60_000, limit_send_millis=60_000)
        self.stall(broker)
        broker.signal(signal.SIGTERM)
        self.assertIsNotNone(broker.output.wait_for("stopping", 10))
        broker.signal(signal.SIGTERM)
        began = time.monotonic()
        self.assertEqual(broker.wait(), 1)
        self.assertLess(time.monotonic() - began, 2)

    def test_the_lock_goes_with_the_process(self) -> None:
        broker = self.serve()
        broker.kill()
        self.serve().connect().close()

    def test_the_listener_is_closed_at_once(self) -> None:
        broker = self.serve(limit_shutdown_millis=60_000, limit_send_millis=60_000)
        self.stall(broker)
        broker.signal(signal.SIGTERM)

        def refused() -> bool:
            try:
                socket.create_connection((broker.host, broker.port), 5).close()
                return False
            except ConnectionRefusedError:
                return True
            except ConnectionResetError:  # it stood in the listener's queue when that was closed
                return False

        wait_until(refused, "new connections are refused while the broker stops")


if __name__ == "__main__":
    unittest.main()
