"""What the closing line of a test run counts."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from count_results import count  # noqa: E402


class Count(unittest.TestCase):
    def test_cases_of_googletest(self):
        passed = "[==========] 34 tests from 9 test suites ran. (317 ms total)\n[  PASSED  ] 34 tests.\n"
        self.assertEqual(count("OK", passed), (34, 0))
        one = "[==========] 1 test from 1 test suite ran. (0 ms total)\n[  PASSED  ] 1 test.\n"
        self.assertEqual(count("OK", one), (1, 0))
        failed = (
            "[==========] 5 tests from 2 test suites ran. (1 ms total)\n[  PASSED  ] 3 tests.\n"
            "[  SKIPPED ] 1 test, listed below:\n[  FAILED  ] 1 test, listed below:\n"
        )
        self.assertEqual(count("FAIL", failed), (3, 1))

    def test_cases_of_unittest(self):
        self.assertEqual(count("OK", "Ran 12 tests in 0.1s\n\nOK (skipped=2)\n"), (10, 0))
        self.assertEqual(count("FAIL", "Ran 12 tests in 0.1s\n\nFAILED (failures=2, errors=1)\n"), (9, 3))

    def test_a_program_that_names_no_cases_is_one(self):
        self.assertEqual(count("OK", "fine\n"), (1, 0))
        self.assertEqual(count("FAIL", ""), (0, 1))
        self.assertEqual(count("TIMEOUT", "[ RUN      ] A.b\n"), (0, 1))
        self.assertEqual(count("SKIP", ""), (0, 0))

    def test_failure_behind_passed_cases_is_not_lost(self):
        leak = "[==========] 3 tests from 1 test suite ran. (1 ms total)\n[  PASSED  ] 3 tests.\nLeakSanitizer\n"
        self.assertEqual(count("FAIL", leak), (2, 1))


if __name__ == "__main__":
    unittest.main()
