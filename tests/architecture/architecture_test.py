"""Fails when a source file breaks a rule of docs/architecture.md. First the rules prove that they can fail."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from arrows import read_table  # noqa: E402
from rules import LINES_MAX, violations  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["src", "sim", "tests", "fuzz", "bench", "conformance", "packaging"]
SUFFIXES = {".h", ".cc", ".py", ".sh", ".build"}

TABLE = read_table((TOP / "docs/architecture.md").read_text())

# (path, text, words that the complaint has to contain)
PLANTED = [
    ("src/base/a.h", '#include "env/clock.h"\n', "base must not include env"),
    ("src/wire/a.cc", '#include "log/segment.h"\n', "wire must not include log"),
    ("src/log/a.cc", '#include "wire/protocol.h"\n', "log must not include wire"),
    ("src/broker/a.cc", '#include "env/posix/reactor.h"\n', "broker must not include env/posix"),
    ("src/broker/a.cc", '#include "client/producer.h"\n', "broker must not include client"),
    ("src/env/a.h", '  #  include "env/posix/file.h"\n', "env must not include env/posix"),
    ("src/log/a.cc", '#include "sim/disk.h"\n', "log must not include sim"),
    ("src/log/a.cc", '#include "elsewhere/x.h"\n', "lies in no room"),
    ("src/elsewhere/a.cc", "int x;\n", "lies in no room"),
    ("src/log/a.cc", "#include <thread>\n", "threads and locks"),
    ("src/cli/a.cc", "#include <mutex>\n", "threads and locks"),
    ("src/wire/a.cc", "#include <atomic>\n", "threads and locks"),
    ("src/client/a.cc", "#include <future>\n", "threads and locks"),
    ("src/library/a.cc", "auto t = std::chrono::steady_clock::now();\n", "a clock"),
    ("src/library/a.cc", "#include <csignal>\n", "the system lives"),
    ("src/client/a.cc", '#include "library/reactor_thread.h"\n', "client must not include library"),
    ("sim/a.cc", "#include <random>\n", "clocks and chance"),
    ("src/log/a.cc", "#include <unistd.h>\n", "the system lives"),
    ("src/log/a.cc", "#include <sys/stat.h>\n", "the system lives"),
    ("src/log/a.cc", "#include <filesystem>\n", "the system lives"),
    ("src/broker/a.cc", "#include <unordered_map>\n", "hash order"),
    ("src/env/fiber/a.cc", "#include <unordered_set>\n", "hash order"),
    ("src/broker/a.cc", "auto t = std::chrono::steady_clock::now();\n", "a clock"),
    ("sim/a.cc", "auto t = std::chrono::system_clock::now();\n", "a clock"),
    ("sim/program/a.cc", "auto t = std::chrono::steady_clock::now();\n", "a clock"),
    ("sim/a.cc", "if (fork() == 0) {}\n", "a system call"),
    ("sim/a.cc", '#include "sim/program/report.h"\n', "sim must not include sim/program"),
    ("src/cli/a.cc", "auto t = std::time(nullptr);\n", "a clock"),
    ("src/broker/a.cc", "std::random_device device;\n", "a source of chance"),
    ("sim/a.cc", "std::uniform_int_distribution<int> d;\n", "a source of chance"),
    ("src/broker/a.cc", "int x = std::rand();\n", "a source of chance"),
    ("src/broker/a.cc", "std::jthread t;\n", "a thread"),
    ("src/log/a.cc", "std::atomic<int> x;\n", "a thread"),
    ("src/log/a.cc", "thread_local int x;\n", "a thread"),
    ("src/log/a.cc", "std::lock_guard guard(m);\n", "a thread"),
    ("src/broker/a.cc", "std::unordered_map<int, int> m;\n", "hash order"),
    ("src/broker/a.cc", "std::size_t h = std::hash<int>()(1);\n", "hash order"),
    ("src/broker/a.cc", "std::map<const Session*, int> m;\n", "pointer order"),
    ("src/broker/a.cc", "std::set<Session *> s;\n", "pointer order"),
    ("src/log/a.cc", "int x = ::open(path, 0);\n", "global namespace"),
    ("src/log/a.cc", "return ::close(fd);\n", "global namespace"),
    ("src/log/a.cc", "if (errno == 5) {}\n", "a system call"),
    ("src/log/a.cc", 'auto* f = std::fopen("x", "r");\n', "a system call"),
    ("src/log/a.cc", "fsync(3);\n", "a system call"),
    ("src/client/a.cc", 'const char* home = std::getenv("HOME");\n', "a system call"),
    ("src/log/a.cc", 'std::cerr << "x";\n', "output"),
    ("src/broker/a.cc", 'fmt::print("x");\n', "output"),
    ("src/log/a.cc", "\n// TO" "DO later\n", "a.cc:2: TO" "DO"),
    ("tests/log/a.py", "# FIX" "ME\n", "FIX" "ME"),
    ("src/log/a.cc", "\n" * (LINES_MAX + 1), f"has {LINES_MAX + 1} lines"),
    ("src/log/a.cc", "/* one\ntwo */ std::mutex m;\n", "a.cc:2: std::mutex"),
    ("src/log/a.cc", 'f("std::mutex", R"x(std::mutex)x");\nstd::mutex m;\n', "a.cc:2: std::mutex"),
    ("src/log/a.cc", "int n = 1'000'000; std::mutex m; int k = 2'000;\n", "std::mutex"),
]

CLEAN = [
    ("src/library/a.cc", "#include <mutex>\nstd::mutex m;\n"),
    ("src/log/a.cc", '#include "env/disk.h"\n#include "log/segment.h"\n#include <map>\n'),
    ("src/env/posix/a.cc", '#include "env/fiber/fiber.h"\n#include <mutex>\n#include <sys/epoll.h>\nint x = ::open(p, 0);\n'),
    ("src/cli/a.cc", '#include "env/posix/environment.h"\n#include <unistd.h>\nint x = ::getrlimit(1, &l);\n'),
    ("sim/a.cc", '#include "sim/disk.h"\n#include "broker/server.h"\nstd::cout << 1;\n'),
    ("sim/program/a.cc", '#include "sim/run.h"\n#include <unistd.h>\nint child = ::fork();\n'),
    ("sim/program/wall_clock.cc", "auto t = std::chrono::steady_clock::now();\n"),
    ("src/log/a.cc", "// std::mutex, <thread>, errno, ::open() and steady_clock in a comment\n"),
    ("src/log/a.cc", '/*\n#include <thread>\n*/\nconst char* text = "std::mutex \\" ::open(";\n'),
    ("src/log/a.cc", "std::chrono::milliseconds x; file.open(p); ::booblik::check_failed(1); Type::make();\n"),
    ("src/log/a.cc", "auto x = [] { return Offset::value(); }; y->Base::run(); template_name<int>::call();\n"),
    ("src/log/a.cc", "std::map<std::string, Session*> m; std::set<Offset> s; std::vector<Session*> v;\n"),
    ("src/log/a.cc", "\n" * LINES_MAX),
    ("src/log/a.cc", '#include "segment.h"\nauto* x = ::new (place) Segment;\n'),
    ("tests/log/a.cc", "#include <thread>\n"),
]


class RulesCatch(unittest.TestCase):
    def test_every_planted_violation(self):
        for path, text, words in PLANTED:
            with self.subTest(path=path, text=text[:60]):
                found = list(violations(path, text, TABLE))
                self.assertTrue(any(words in complaint for complaint in found), found)

    def test_nothing_in_clean_code(self):
        for path, text in CLEAN:
            with self.subTest(path=path, text=text[:60]):
                self.assertEqual(list(violations(path, text, TABLE)), [])


class ArrowTable(unittest.TestCase):
    def test_points_one_way(self):
        self.assertEqual(TABLE["base"], {"base"})
        self.assertEqual(TABLE["log"], {"base", "env", "log"})
        self.assertNotIn("env/posix", TABLE["broker"])
        self.assertIn("env/posix", TABLE["cli"])

    def test_a_row_may_only_name_rows_above_it(self):
        with self.assertRaises(ValueError):
            read_table("| `src/a` | x | b |\n| `src/b` | y | - |\n")
        with self.assertRaises(ValueError):
            read_table("no table here\n")


class Repository(unittest.TestCase):
    def test_keeps_the_rules(self):
        paths = [TOP / "dev"]
        for folder in FOLDERS:
            paths += [p for p in sorted((TOP / folder).rglob("*")) if p.suffix in SUFFIXES and p.is_file()]
        self.assertGreater(len(paths), 20, "the source tree was not found")
        found = []
        for path in paths:
            found += violations(path.relative_to(TOP).as_posix(), path.read_text(), TABLE)
        self.assertEqual(found, [], "\n" + "\n".join(found))


if __name__ == "__main__":
    unittest.main()
