"""The rules that every source file keeps. Each rule gives violations as "path:line: sentence"."""

import re

from arrows import room_of, short_name
from source_text import code_only, includes

LINES_MAX = 450

# Rooms that are the world's side of the environment; everyone else asks the environment.
WORLD_ROOMS = {"env/posix", "env/fiber"}
# User threads meet the reactor here: threads and locks, and nothing else of the world.
THREADED_ROOMS = {"library"}
# The programs start here: they read files, variables and limits, or start processes, outside of any environment.
START_UP_ROOMS = {"cli", "sim/program"}

CONCURRENCY_HEADERS = {
    "atomic", "barrier", "condition_variable", "future", "latch", "mutex", "semaphore", "shared_mutex", "stop_token",
    "thread", "pthread.h", "semaphore.h", "threads.h", "stdatomic.h",
}
CHANCE_HEADERS = {"random", "ctime", "time.h", "sys/time.h", "sys/random.h"}
HASH_HEADERS = {"unordered_map", "unordered_set"}
SYSTEM_HEADERS = {
    "csignal", "signal.h", "fcntl.h", "filesystem", "fstream", "netdb.h", "poll.h", "sched.h", "spawn.h", "unistd.h",
    "dirent.h", "ifaddrs.h", "dlfcn.h", "termios.h",
}
SYSTEM_HEADER_FOLDERS = ("sys/", "netinet/", "arpa/", "net/", "linux/", "asm/")

# (pattern, what it is, rooms in which it is fine). The program needs no clock, thread or lock to start either.
CODE_RULES = [
    (r"\b(?:system|steady|high_resolution|utc|file)_clock\b|\bclock_gettime\b|\bgettimeofday\b|\bstd::time\s*\(|\b__rdtsc\b|"
     r"\b_rdtsc\b", "a clock: take env::Clock", WORLD_ROOMS),
    (r"\bstd::(?:random_device|mt19937(?:_64)?|default_random_engine|minstd_rand0?|ranlux\w+|"
     r"(?:uniform|normal|bernoulli|poisson|exponential)\w*_distribution|s?rand)\b|\bgetrandom\b|\barc4random\b|\b_rdrand\w+",
     "a source of chance: take env::Random", WORLD_ROOMS),
    (r"\bstd::(?:jthread|thread|this_thread|async|mutex|recursive_mutex|timed_mutex|shared_mutex|lock_guard|unique_lock|"
     r"scoped_lock|shared_lock|condition_variable(?:_any)?|atomic\w*|promise|future|latch|barrier|counting_semaphore|"
     r"binary_semaphore|call_once|once_flag)\b|\bthread_local\b|\bpthread_\w+|\bvolatile\b",
     "a thread, a lock or what only threads need: fibers of one reactor need none", WORLD_ROOMS | THREADED_ROOMS),
    (r"\bstd::(?:unordered_(?:multi)?(?:map|set)|hash)\b", "hash order: use std::map or a sorted vector", {"env/posix"}),
    (r"\bstd::(?:multi)?(?:map|set)\s*<\s*(?:const\s+)?[\w:]+(?:\s+const)?\s*\*", "pointer order: order by a name or a number",
     {"env/posix"}),
    (r"(?<![\w:>])::(?!new\b|delete\b|operator\b|booblik\b|std\b|testing\b|CLI\b|fmt\b)[a-z_]\w*\s*\(",
     "a call into the global namespace, that is, of the system: ask the environment", WORLD_ROOMS | START_UP_ROOMS),
    (r"\berrno\b|\bgetenv\b|\bstd::system\b|\bfork\s*\(|\bepoll_\w+|\bpwritev?\b|\bpreadv?\b|\bf(?:data)?sync\s*\(|"
     r"\bsendfile\b|\bioctl\b|\bfopen\b|\bfreopen\b|\btmpfile\b",
     "a system call: ask the environment", WORLD_ROOMS | START_UP_ROOMS),
    (r"\bstd::(?:cout|cerr|clog|cin)\b|\bf?printf\s*\(|\bputs\s*\(|\bfmt::print\s*\(",
     "output: write to env::Logger", WORLD_ROOMS | START_UP_ROOMS | {"sim"}),
]
CODE_RULES = [(re.compile(pattern), what, rooms) for pattern, what, rooms in CODE_RULES]

# What single files may say, and why.
EXEMPTIONS = {
    "src/base/check.cc": {"fprintf("},  # a broken invariant has nobody to ask: it prints and ends the process
    "sim/program/wall_clock.cc": {"steady_clock"},  # --minutes, and how fast seeds run; no simulation sees it
    "sim/process_heap.cc": {"thread_local"},  # operator new has no parameter to carry the current heap
}

_UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def _line(text, position):
    return text.count("\n", 0, position) + 1


def length_violations(path, text):
    lines = text.count("\n")
    if lines > LINES_MAX:
        yield f"{path}:{LINES_MAX + 1}: the file has {lines} lines; cut it where its purposes part (at most {LINES_MAX})"


def unfinished_violations(path, text):
    for match in _UNFINISHED.finditer(text):
        yield f"{path}:{_line(text, match.start())}: {match.group(0)}: finish it or file an issue"


def arrow_violations(path, text, table):
    own = room_of(short_name(path), table)
    if own is None:
        yield f"{path}:1: it lies in no room of the table in docs/architecture.md"
        return
    for line, included, is_quoted in includes(text):
        beside = own if "/" not in included else None  # a file of the same folder
        room = beside or room_of(included, table) if is_quoted else None
        if is_quoted and room is None:
            yield f'{path}:{line}: "{included}" lies in no room of the table in docs/architecture.md'
        elif room is not None and room not in table[own]:
            yield f'{path}:{line}: {own} must not include {room} ("{included}"); docs/architecture.md has the arrows'


def _header_complaint(header, own):
    if own in WORLD_ROOMS:
        return None if header not in HASH_HEADERS or own == "env/posix" else "hash order: use std::map or a sorted vector"
    if header in CONCURRENCY_HEADERS and own not in THREADED_ROOMS:
        return "threads and locks live in the environment"
    if header in CHANCE_HEADERS:
        return "clocks and chance live in the environment"
    if header in HASH_HEADERS:
        return "hash order: use std::map or a sorted vector"
    if own in START_UP_ROOMS:
        return None
    if header in SYSTEM_HEADERS or header.startswith(SYSTEM_HEADER_FOLDERS):
        return "the system lives in the environment"
    return None


def world_violations(path, text, table):
    own = room_of(short_name(path), table)
    for line, included, is_quoted in includes(text):
        complaint = None if is_quoted else _header_complaint(included, own)
        if complaint:
            yield f"{path}:{line}: <{included}>: {complaint}"
    code = code_only(text)
    exempt = EXEMPTIONS.get(path, set())
    for pattern, what, rooms in CODE_RULES:
        if own in rooms:
            continue
        for match in pattern.finditer(code):
            found = match.group(0).strip()
            if found not in exempt:
                yield f"{path}:{_line(code, match.start())}: {found}: {what}"


def violations(path, text, table):
    """All of one file. `path` is relative to the top of the project, with '/' between parts."""
    yield from length_violations(path, text)
    yield from unfinished_violations(path, text)
    if path.startswith(("src/", "sim/")) and path.endswith((".h", ".cc")):
        yield from arrow_violations(path, text, table)
        yield from world_violations(path, text, table)
