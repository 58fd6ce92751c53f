"""--trace: the text, and the format of trace viewers."""

import collections
import json
import pathlib
import tempfile
import unittest

from sim_program import run

# With crashes and restarts, and with errors that the broker logs.
SEED = ["--seed", "17", "--mode", "crash", "--set", "load_millis=6000", "--set", "life_millis=1000",
        "--set", "sync_error_odds=20", "--set", "kill_weight=1", "--set", "power_weight=0", "--set", "stop_weight=0"]


def trace(name, *extra):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / name
        ran = run(*SEED, *extra, "--trace", str(path))
        return ran, path.read_text(encoding="utf-8")


class Text(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ran, cls.text = trace("run.txt")

    def test_tracing_changes_nothing(self):
        self.assertEqual(self.ran.result(), run(*SEED).result())

    def test_has_every_kind_of_event_with_its_time(self):
        lines = self.text.splitlines()
        kinds = collections.Counter(line.split()[3] for line in lines)
        for kind in ("fiber", "disk", "network", "process", "probe", "log", "cut"):
            self.assertGreater(kinds[kind], 0, kind)
        for line in lines:
            self.assertRegex(line, r"^ *\d+ us  #\d+ ")
        for words in ("broker starts", "broker is killed", "sync /data/", "receive ", "send ", "accept connection "):
            self.assertIn(words, self.text)

    def test_numbers_of_events_never_go_back(self):
        numbers = [int(line.split("#")[1].split()[0]) for line in self.text.splitlines()]
        self.assertEqual(numbers, sorted(numbers))
        self.assertLessEqual(numbers[-1], int(self.ran.result()["events"]))

    def test_standard_output(self):
        ran = run(*SEED, "--trace", "-")
        self.assertEqual(ran.result(), self.ran.result())
        self.assertIn(self.text, ran.out)


class Viewer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ran, cls.text = trace("run.json")
        cls.events = json.loads(cls.text)

    def of(self, phase, category=None):
        return [event for event in self.events if event["ph"] == phase and category in (None, event.get("cat"))]

    def test_tracing_changes_nothing(self):
        self.assertEqual(self.ran.result(), run(*SEED).result())

    def test_every_track_is_named_before_it_is_used(self):
        named = set()
        for event in self.events:
            if event["name"] == "thread_name":
                named.add((event["pid"], event["tid"]))
            elif event["ph"] != "M":
                self.assertIn((event["pid"], event["tid"]), named)
        names = {event["args"]["name"] for event in self.of("M")}
        self.assertIn("broker, life 1", names)
        self.assertTrue(any(name.startswith("client ") for name in names))

    def test_operations_are_slices_that_nest(self):
        self.assertGreater(len(self.of("X", "disk")), 50)
        self.assertGreater(len(self.of("X", "network")), 50)
        tracks = collections.defaultdict(list)
        for event in self.of("X"):
            begin = round(event["ts"] * 1000)
            tracks[event["pid"], event["tid"]].append((begin, begin + round(event["dur"] * 1000)))
        for track, slices in tracks.items():
            open_ends = []
            for begin, end in sorted(slices, key=lambda each: (each[0], -each[1])):
                while open_ends and open_ends[-1] <= begin:
                    open_ends.pop()
                self.assertTrue(not open_ends or end <= open_ends[-1], f"{track}: a slice {begin}..{end} cuts another")
                open_ends.append(end)

    def test_crashes_and_restarts_are_marks_over_everything(self):
        marks = [event for event in self.of("i", "process")]
        self.assertTrue(all(mark["s"] == "g" for mark in marks))
        names = [mark["name"] for mark in marks]
        self.assertGreater(names.count("broker starts"), 1)
        self.assertTrue({"broker is killed", "machine loses power"} & set(names))
        self.assertGreater(len(self.of("i", "probe")), 0)

    def test_the_trace_of_a_crash_is_there_up_to_its_end(self):
        ran, text = trace("run.json", "--set", "planted_fault=1")
        self.assertEqual(ran.code, 1)
        events = json.loads(text + "]")
        self.assertGreater(len(events), 100)
        # The check fails half-way through the load; the last event before it is a little earlier.
        self.assertGreater(max(event.get("ts", 0) for event in events), 2_500_000)


if __name__ == "__main__":
    unittest.main()
