"""Consumes the installed library from an empty folder: pkg-config with plain g++, CMake and Meson, each static and shared.

    install_test.py BUILD_DIR PROGRAM

BUILD_DIR is a built meson folder of booblik, PROGRAM its broker. Each program is built from docs/examples/ and run against a live broker.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv[1]).resolve()
PROGRAM = sys.argv[2]

CMAKE = """cmake_minimum_required(VERSION 3.16)
project(consumer CXX)
find_package(booblik 0.1 REQUIRED)
add_executable(produce-shared produce.cc)
target_link_libraries(produce-shared booblik::booblik)
add_executable(produce-static produce.cc)
target_link_libraries(produce-static booblik::static)
"""

MESON = """project('consumer', 'cpp', default_options: ['cpp_std=c++17'])
executable('produce-shared', 'produce.cc', dependencies: [dependency('booblik')])
executable('produce-static', 'produce.cc', dependencies: [dependency('booblik-static')])
"""

# What a name of the shared library may begin with, once demangled.
PUBLIC = re.compile(r"^(?:(?:vtable|typeinfo|typeinfo name) for )?booblik::(?:Client|Connection|Consumer|Producer|"
                    r"PositionStore|FilePositionStore|name_of|partition_for_key)\b")


def run(*command: object, folder: Path, **variables: str) -> str:
    done = subprocess.run([str(word) for word in command], cwd=folder, env={**os.environ, **variables}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


class InstalledLibrary(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="install-", dir=BUILD))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        stage = cls.folder / "stage"
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", stage, folder=cls.folder)
        packages = next(stage.rglob("booblik.pc"))
        cls.libdir = packages.parents[1]
        cls.variables = {
            "PKG_CONFIG_PATH": str(packages.parent),
            "CMAKE_PREFIX_PATH": str(next(stage.rglob("include")).parent),
            "LD_LIBRARY_PATH": str(cls.libdir),
        }
        cls.broker = subprocess.Popen(
            [PROGRAM, "serve", "--port=0", f"--data-dir={cls.folder / 'data'}", "--topics=t:1"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        cls.addClassCleanup(cls.end_broker)
        assert cls.broker.stdout is not None
        found = next(filter(None, (re.search(r"booblik listening on (\S+)", line) for line in cls.broker.stdout)), None)
        assert found is not None, "the broker did not start"
        cls.address = found.group(1)

    @classmethod
    def end_broker(cls) -> None:
        cls.broker.kill()
        cls.broker.wait()
        assert cls.broker.stdout is not None
        cls.broker.stdout.close()

    def empty_folder(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir()
        for example in ("produce.cc", "consume.cc"):
            shutil.copy(ROOT / "docs/examples" / example, folder)
        return folder

    def run_here(self, program: Path, *arguments: str) -> str:
        return run(program, *arguments, folder=program.parent, **self.variables)

    def links_booblik(self, program: Path) -> bool:
        return "libbooblik.so.0" in run("readelf", "-d", program, folder=program.parent)

    def check(self, shared: Path, static: Path) -> None:
        for program, is_shared in ((shared, True), (static, False)):
            self.assertRegex(self.run_here(program, self.address, "t", "hello"), r"^partition 0, offset \d+\n$")
            self.assertEqual(self.links_booblik(program), is_shared)

    def test_pkg_config_and_plain_compiler(self) -> None:
        folder = self.empty_folder("plain")
        for package, program in (("booblik", "produce-shared"), ("booblik-static", "produce-static")):
            flags = run("pkg-config", "--cflags", "--libs", package, folder=folder, **self.variables).split()
            run("g++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "produce.cc", "-o", program, *flags,
                folder=folder)
        self.check(folder / "produce-shared", folder / "produce-static")

    def test_cmake(self) -> None:
        folder = self.empty_folder("cmake")
        (folder / "CMakeLists.txt").write_text(CMAKE)
        run("cmake", "-S", ".", "-B", "build", "-G", "Ninja", folder=folder, **self.variables)
        run("cmake", "--build", "build", folder=folder)
        self.check(folder / "build/produce-shared", folder / "build/produce-static")

    def test_meson(self) -> None:
        folder = self.empty_folder("meson")
        (folder / "meson.build").write_text(MESON)
        run("meson", "setup", "build", folder=folder, **self.variables)
        run("ninja", "-C", "build", folder=folder)
        self.check(folder / "build/produce-shared", folder / "build/produce-static")

    def test_the_shared_library_shows_its_interface_only(self) -> None:
        library = self.libdir / "libbooblik.so"
        names = run("nm", "-DC", "--defined-only", library, folder=self.folder).splitlines()
        shown = [line.split(maxsplit=2)[2] for line in names]
        self.assertEqual([name for name in shown if not PUBLIC.match(name)], [])
        for wanted in ("booblik::Producer::flush()", "booblik::Client::open(booblik::ClientOptions)"):
            self.assertIn(wanted, shown)
        self.assertIn("libbooblik.so.0", run("readelf", "-d", library, folder=self.folder))

    def test_public_headers_need_the_standard_library_only(self) -> None:
        for header in sorted((ROOT / "src/library/include/booblik").glob("*.h")):
            for included in re.findall(r'#\s*include\s*([<"][^>"]+[>"])', header.read_text()):
                self.assertRegex(included, r"^<(?:booblik/\w+\.h|[a-z_]+)>$", f"{header.name} includes {included}")

    def test_the_examples_work_together(self) -> None:
        produce, consume = BUILD / "docs/examples/example-produce", BUILD / "docs/examples/example-consume"
        positions = self.folder / "positions"
        self.run_here(produce, self.address, "t", "one", "two")
        first = self.run_here(consume, self.address, "t", "0", str(positions))
        self.assertRegex(first, r"(?m)^\d+ one\n\d+ two$")
        self.run_here(produce, self.address, "t", "three")
        self.assertRegex(self.run_here(consume, self.address, "t", "0", str(positions)), r"^\d+ three\n$")
        self.assertEqual(self.run_here(consume, self.address, "t", "0", str(positions)), "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
