"""The package as users get it: a wheel that is made without a network, typed throughout."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

from scripted import ROOT

PACKAGE = ROOT / "conformance" / "python"


class Package(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_the_wheel_holds_the_package_and_imports(self) -> None:
        sys.path.insert(0, str(PACKAGE))
        self.addCleanup(sys.path.remove, str(PACKAGE))
        name = importlib.import_module("build_wheel_here").build_wheel(str(self.folder))
        wheel = self.folder / name
        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
            record = archive.read("booblik-0.1.0.dist-info/RECORD").decode()
        self.assertLessEqual({"booblik/__init__.py", "booblik/aio.py", "booblik/py.typed"}, names)
        self.assertEqual({line.split(",")[0] for line in record.splitlines()}, names)
        code = "import booblik, booblik.aio; print(booblik.__file__)"
        done = subprocess.run(
            [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(wheel)!r}); {code}"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertIn(name, done.stdout, done.stderr)

    def test_the_client_needs_no_module_beyond_the_standard_library(self) -> None:
        code = "import sys, booblik.aio; print(*{name.split('.')[0] for name in sys.modules})"
        done = subprocess.run(
            [sys.executable, "-S", "-E", "-c", f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); {code}"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        foreign = set(done.stdout.split()) - set(sys.stdlib_module_names) - {"booblik", "__main__"}
        self.assertEqual(foreign, set(), done.stderr)

    def test_it_shares_no_code_with_the_kit_that_judges_it(self) -> None:
        kit = {path.stem for path in (ROOT / "conformance").glob("*.py")} | {"rules", "client_rules"}
        for path in PACKAGE.rglob("*.py"):
            for line in path.read_text().splitlines():
                words = line.split()
                if words[:1] in (["import"], ["from"]):
                    self.assertNotIn(words[1].split(".")[0], kit, path)

    def test_types(self) -> None:
        for folder, files in ((PACKAGE, ["booblik", "build_wheel_here.py"]), (ROOT / "conformance", ["client.py", "broker.py"])):
            done = subprocess.run(
                ["mypy", "--strict", f"--cache-dir={self.folder}", *files], cwd=folder, capture_output=True, text=True, timeout=200
            )
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
