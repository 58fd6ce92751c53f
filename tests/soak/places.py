"""Where a broker of the soak keeps its data: a folder on a real disk, and a small file system that can be filled."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

from check import Known

MIB = 1 << 20
SMALL_DISK_BYTES = 64 * MIB
_CLONE_NEWNS = 0x20000


class Place:
    """A data directory and what is known about it."""

    def __init__(self, name: str, directory: Path, partitions: int) -> None:
        self.name = name
        self.directory = directory
        self.data = directory / "data"
        self.known = {partition: Known() for partition in range(partitions)}
        self.retention_bytes: int | None = None  # the smallest of all lives since `known` was read

    def used_bytes(self) -> int:
        total = 0
        for folder, _, files in os.walk(self.directory):
            for name in files:
                try:
                    total += os.lstat(os.path.join(folder, name)).st_blocks * 512
                except FileNotFoundError:
                    pass  # retention was faster
        return total


class SmallDisk(Place):
    """A file system of its own, 64 MiB. `problem` says why there is none."""

    def __init__(self, image: Path, directory: Path, partitions: int) -> None:
        super().__init__("small disk", directory, partitions)
        self.ballast = directory / "ballast"
        self.kind = ""
        self.problem = ""
        directory.mkdir()
        try:
            self._mount(image)
        except (OSError, subprocess.CalledProcessError) as error:
            self.problem = str(error)

    def _mount(self, image: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_CLONE_NEWNS) != 0:  # the mount ends with this process and its children
            raise OSError(ctypes.get_errno(), "no private mounts: " + os.strerror(ctypes.get_errno()))
        subprocess.run(["mount", "--make-rprivate", "/"], check=True, capture_output=True)
        image.touch()
        os.truncate(image, SMALL_DISK_BYTES)
        if shutil.which("mkfs.ext4") and _runs("mkfs.ext4", "-q", "-m", "0", "-F", str(image)):
            if _runs("mount", "-o", "loop", str(image), str(self.directory)):
                self.kind = "ext4 in a loop device"
                return
        if _runs("mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES}", "booblik-soak", str(self.directory)):
            self.kind = "tmpfs"
            return
        self.problem = "neither a loop device nor a tmpfs can be mounted"

    def fill(self) -> None:
        """Takes all the space that there is."""
        with open(self.ballast, "ab", buffering=0) as file:
            for size in (MIB, 4096, 512):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass

    def free(self) -> None:
        self.ballast.unlink(missing_ok=True)

    def unmount(self) -> None:
        if self.kind:
            self.free()
            _runs("umount", "-l", str(self.directory))


def _runs(*command: str) -> bool:
    return subprocess.run(command, capture_output=True).returncode == 0
