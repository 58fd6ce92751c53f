"""A full disk: PRODUCE is refused by closing, FETCH goes on, and PRODUCE resumes when there is space again."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import unittest

import harness  # first: it makes conformance importable
import booblik_wire as wire
from booblik_socket import Closed

CLONE_NEWNS = 0x20000
MIB = 1 << 20


def private_mounts() -> None:
    """Mounts made from here on are seen by this process and its children, and end with them."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True, capture_output=True)


class FullDisk(harness.ProcessTest):
    def setUp(self) -> None:
        super().setUp()
        self.disk = self.directory / "disk"
        self.disk.mkdir()
        self.mount()
        self.data = self.disk / "data"
        self.ballast = self.disk / "ballast"

    def mount(self) -> None:
        """A small ext4, or a tmpfs where loop devices are missing."""
        try:
            private_mounts()
            self.addCleanup(self.runs, "umount", "-l", str(self.disk))
            image = self.directory / "image"
            image.touch()
            os.truncate(image, 24 * MIB)
            if shutil.which("mkfs.ext4") and self.runs("mkfs.ext4", "-q", "-m", "0", "-F", str(image)):
                if self.runs("mount", "-o", "loop", str(image), str(self.disk)):
                    return
            if self.runs("mount", "-t", "tmpfs", "-o", "size=16m", "booblik-test", str(self.disk)):
                return
        except (OSError, subprocess.CalledProcessError) as error:
            self.give_up(str(error))
        self.give_up("neither a loop mount nor a tmpfs can be made")

    @staticmethod
    def runs(*command: str) -> bool:
        return subprocess.run(command, capture_output=True).returncode == 0

    def give_up(self, why: str) -> None:
        print(f"SKIPPED: nothing is tested about a full disk here: {why}", file=sys.stderr)
        self.skipTest(why)

    def fill(self, broker: harness.Broker, ack: int, payload: bytes) -> int:
        """Produces until the broker closes; returns how many were acknowledged."""
        acked = 0
        with broker.connect() as connection:
            try:
                while acked < 10_000:
                    connection.produce("orders", [payload, payload], ack=ack)
                    acked += 2
            except Closed:
                return acked
        raise AssertionError("the disk never got full")

    def space_is_left(self) -> int:
        found = os.statvfs(self.disk)
        return found.f_bavail * found.f_frsize

    def test_produce_is_refused_fetch_goes_on_produce_resumes(self) -> None:
        for ack in (wire.ACK_WRITTEN, wire.ACK_FORCED):
            with self.subTest(ack=ack):
                self.one_round(ack)

    def one_round(self, ack: int) -> None:
        shutil.rmtree(self.data, ignore_errors=True)
        self.ballast.write_bytes(bytes(4 * MIB))
        payload = os.urandom(100_000)
        broker = self.serve("orders:1", segment_capacity_bytes=3 * MIB)
        acked = self.fill(broker, ack, payload)
        self.assertGreater(acked, 20)
        with broker.connect() as connection:
            for _ in range(3):  # reading goes on, and nothing of a refused batch can be seen
                stored = connection.read_all("orders", verify=False)
                self.assertEqual((len(stored), set(stored)), (acked, {payload}))
            with broker.connect() as second:
                second.send_produce("orders", [payload] * 2, ack=ack)
                second.expect_end("PRODUCE on a full disk")
            held = connection.send_fetch("orders", acked, max_wait_ms=60_000, min_bytes=1)
            self.ballast.unlink()
            with broker.connect() as second:
                produced = second.produce("orders", [b"after the space came back"], ack=ack)
                self.assertEqual(produced.base_offset, acked)
            self.assertEqual(connection.expect_fetched(held).high_watermark, acked + 1)
        self.assertEqual(broker.stop(), 0)
        with self.serve("orders:1", segment_capacity_bytes=3 * MIB).connect() as connection:
            self.assertEqual(connection.read_all("orders", verify=False), stored + [b"after the space came back"])
        self._brokers[-1].stop()

    def test_silent_produces_are_not_lost_behind_an_open_connection(self) -> None:
        broker = self.serve("orders:1", segment_capacity_bytes=3 * MIB)
        payload = os.urandom(100_000)
        with broker.connect() as connection:
            with self.assertRaises(Closed):
                for _ in range(1000):
                    connection.send_produce("orders", [payload], ack=wire.ACK_NONE)
                    connection.expect_open()
        with broker.connect() as connection:
            self.assertEqual(set(connection.read_all("orders", verify=False)), {payload})

    def take_all_space(self) -> None:
        with open(self.ballast, "wb", buffering=0) as file:
            for size in (MIB, 4096, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass

    def test_a_stop_on_a_full_disk_is_a_good_one(self) -> None:
        broker = self.serve("orders:1", segment_capacity_bytes=3 * MIB)
        with broker.connect() as connection:
            connection.produce("orders", [b"one", b"two"])
        self.take_all_space()
        self.assertEqual(broker.stop(), 0)
        broker = self.serve("orders:1", segment_capacity_bytes=3 * MIB)
        with broker.connect() as connection:
            self.assertEqual(connection.read_all("orders"), [b"one", b"two"])

    def test_a_start_on_a_full_disk_serves_what_is_there(self) -> None:
        broker = self.serve("orders:1", segment_capacity_bytes=3 * MIB)
        with broker.connect() as connection:
            connection.produce("orders", [b"one", b"two"], ack=wire.ACK_FORCED)
        broker.kill()
        self.take_all_space()
        broker = self.serve("orders:1", segment_capacity_bytes=3 * MIB)
        with broker.connect() as connection:
            self.assertEqual(connection.read_all("orders"), [b"one", b"two"])
        self.ballast.unlink()
        with broker.connect() as connection:
            self.assertEqual(connection.produce("orders", [b"three"]).base_offset, 2)


if __name__ == "__main__":
    unittest.main()
