"""Counts test cases in the results of `meson test`: prints "PASSED FAILED".

    count_results.py BUILD_DIR/meson-logs/testlog.json

A program that says how many cases it ran (GoogleTest, unittest) counts for so many, any other for one. A program that failed without
naming a failed case (a crash, a timeout, a sanitizer) counts one failure.
"""

import json
import re
import sys

_GTEST_RAN = re.compile(r"^\[==========\] (\d+) tests? from .* ran", re.MULTILINE)
_GTEST_FAILED = re.compile(r"^\[  FAILED  \] (\d+) tests?, listed below", re.MULTILINE)
_GTEST_SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) tests?, listed below", re.MULTILINE)
_UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)
_UNITTEST_DETAIL = re.compile(r"^(?:FAILED|OK) \(([^)]*)\)", re.MULTILINE)
_UNITTEST_COUNTS = re.compile(r"(failures|errors|unexpected successes|skipped)=(\d+)")
_GOOD = {"OK", "EXPECTEDFAIL"}


def _sum(pattern, text):
    return sum(int(number) for number in pattern.findall(text))


def count(result, output):
    """(passed, failed) of one program: its result in meson's words, and what it printed."""
    if result == "SKIP":
        return 0, 0
    ran = _sum(_GTEST_RAN, output) + _sum(_UNITTEST_RAN, output)
    failed = _sum(_GTEST_FAILED, output)
    skipped = _sum(_GTEST_SKIPPED, output)
    for detail in _UNITTEST_DETAIL.findall(output):
        for kind, number in _UNITTEST_COUNTS.findall(detail):
            if kind == "skipped":
                skipped += int(number)
            else:
                failed += int(number)
    if result in _GOOD and ran == 0:
        return 1, 0
    if result not in _GOOD:
        failed = max(failed, 1)
    return max(ran - failed - skipped, 0), failed


def main(path):
    passed = failed = 0
    with open(path, encoding="utf-8") as log:
        for line in log:
            test = json.loads(line)
            more_passed, more_failed = count(test["result"], test.get("stdout", "") + "\n" + test.get("stderr", ""))
            passed += more_passed
            failed += more_failed
    print(passed, failed)


if __name__ == "__main__":
    main(sys.argv[1])
