"""Prints the names of the meson tests whose program lies in one of these folders of the build, or with --targets what to build for them.

    tests_in.py [--targets] BUILD_DIR tests/env tests/library
"""

import json
import pathlib
import subprocess
import sys


def main(arguments):
    want_targets = arguments[0] == "--targets"
    build, *folders = arguments[1:] if want_targets else arguments
    build = pathlib.Path(build).resolve()
    tests = json.loads(subprocess.check_output(["meson", "introspect", "--tests", str(build)]))
    for test in tests:
        program = pathlib.Path(test["cmd"][0])
        if any(program.is_relative_to(build / folder) for folder in folders):
            print(program.relative_to(build) if want_targets else test["name"])


if __name__ == "__main__":
    main(sys.argv[1:])
