"""Attacks on a running broker, and what they cost it and an honest client beside them.

Each attack runs in a process of its own against a fresh broker. `tests/process/test_attacks.py` runs them small, with
assertions; `bench/attacks.py` runs them in full and prints the table of docs/security.md.
"""

from __future__ import annotations

import itertools
import multiprocessing
import multiprocessing.synchronize
import re
import resource
import select
import socket
import statistics
import struct
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import harness  # first: it makes conformance importable
import booblik_wire as wire
from booblik_socket import Connection, Misbehaviour

MIB = 1 << 20
TOPIC = "orders"
TOPICS = f"{TOPIC}:3"


def raise_descriptor_limit() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


# --- the attackers ---


class Attackers:
    """The sockets of one attack. Nothing here waits for one of them alone."""

    def __init__(self, address: tuple[str, int], ready: multiprocessing.synchronize.Event,
                 stop: multiprocessing.synchronize.Event) -> None:
        self.address = address
        self.ready = ready
        self.stop = stop
        self.sockets: list[socket.socket] = []

    def connect(self, count: int, receive_buffer: int | None = None) -> None:
        for _ in range(count):
            peer = socket.socket()
            if receive_buffer is not None:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            peer.settimeout(5.0)
            try:
                peer.connect(self.address)
            except OSError:  # a full backlog drops what it cannot take
                peer.close()
                continue
            peer.setblocking(False)
            self.sockets.append(peer)

    def send_all(self, data: bytes, seconds: float) -> None:
        """To each, as far as the broker takes it within the time."""
        left = {peer.fileno(): (peer, memoryview(data)) for peer in self.sockets}
        poll = select.poll()
        for number in left:
            poll.register(number, select.POLLOUT)
        end = time.monotonic() + seconds
        while left and time.monotonic() < end and not self.stop.is_set():
            for number, _ in poll.poll(50):
                peer, rest = left[number]
                try:
                    rest = rest[peer.send(rest[: 256 * 1024]) :]
                except BlockingIOError:
                    continue
                except OSError:  # cut
                    rest = rest[:0]
                left[number] = (peer, rest)
                if not rest:
                    poll.unregister(number)
                    del left[number]

    def send_once(self, data: bytes) -> None:
        for peer in self.sockets:
            try:
                peer.send(data)
            except OSError:
                pass

    def reset_all(self) -> None:
        for peer in self.sockets:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.close()
        self.sockets.clear()

    def close_all(self) -> None:
        for peer in self.sockets:
            peer.close()
        self.sockets.clear()

    def sit(self) -> None:
        self.ready.set()
        self.stop.wait()


ANNOUNCED = struct.pack(">ihhi", wire.FRAME_LENGTH_MAX, wire.PRODUCE, 1, 1)


def announce(attackers: Attackers, count: int) -> None:
    attackers.connect(count)
    attackers.send_once(ANNOUNCED[:5])
    attackers.sit()


def half_frames(attackers: Attackers, count: int) -> None:
    attackers.connect(count)
    attackers.ready.set()
    attackers.send_all(ANNOUNCED + bytes(4 * MIB - len(ANNOUNCED)), 10)
    attackers.sit()


def slow_loris(attackers: Attackers, count: int) -> None:
    attackers.connect(count)
    attackers.ready.set()
    for at in itertools.count():
        attackers.send_once(ANNOUNCED[at : at + 1] or b"x")
        if attackers.stop.wait(0.5):
            return


def never_read(attackers: Attackers, count: int) -> None:
    attackers.connect(count, receive_buffer=4096)
    body = wire.fetch_body(TOPIC, 0, 0, wire.INT32_MAX)
    attackers.ready.set()
    attackers.send_all(b"".join(wire.request(wire.FETCH, 1, number, body) for number in range(4096)), 10)
    attackers.sit()


def pipelines_then_reset(attackers: Attackers, count: int) -> None:
    held = wire.request(wire.FETCH, 2, 1, wire.fetch_body(TOPIC, 1, 0, 1000, 60_000, 1))
    behind = wire.request(wire.METADATA, 1, 2, wire.metadata_body())
    produce = wire.request(wire.PRODUCE, 1, 3, wire.produce_body(TOPIC, 2, wire.ACK_NONE, [b"x" * 100]))
    stream = held + (behind + produce) * 4000
    attackers.ready.set()
    while not attackers.stop.is_set():
        attackers.connect(count)
        attackers.send_all(stream, 2)
        attackers.reset_all()


def held_then_gone(attackers: Attackers, count: int) -> None:
    held = wire.request(wire.FETCH, 2, 1, wire.fetch_body(TOPIC, 1, 0, 1000, 60_000, 1))
    attackers.ready.set()
    while not attackers.stop.is_set():
        attackers.connect(count)
        attackers.send_once(held)
        attackers.stop.wait(0.5)
        attackers.reset_all()


def flood(attackers: Attackers, count: int) -> None:
    """More connections than there are descriptors."""
    attackers.ready.set()
    for _ in range(count):
        peer = socket.socket()
        peer.setblocking(False)
        peer.connect_ex(attackers.address)
        attackers.sockets.append(peer)
    attackers.sit()


def storm(attackers: Attackers, count: int) -> None:
    attackers.ready.set()
    for number in itertools.count():
        if attackers.stop.is_set():
            return
        attackers.connect(count)
        attackers.reset_all() if number % 2 else attackers.close_all()


GREETINGS = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    bytes.fromhex("1603010200010001fc0303") + bytes(500),
    b"SSH-2.0-OpenSSH_9.2\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
)


def foreign(attackers: Attackers, count: int) -> None:
    attackers.ready.set()
    for greeting in itertools.cycle(GREETINGS):
        if attackers.stop.is_set():
            return
        attackers.connect(count)
        attackers.send_once(greeting)
        attackers.stop.wait(0.05)
        attackers.close_all()


@dataclass(frozen=True)
class Attack:
    name: str
    says: str
    run: Callable[[Attackers, int], None]
    full: int  # connections, in the table and in CI
    small: int
    reason: str | None = None  # what a log line must say about a connection that was cut
    flags: dict[str, object] = field(default_factory=dict)
    small_flags: dict[str, object] = field(default_factory=dict)  # in CI, on top of them
    descriptors: int | None = None
    preload: bool = False  # 64 MiB are stored before
    large: bool = False  # the honest client also sends a PRODUCE of 7 MiB


ATTACKS = [
    Attack("announce", "announce 8 MiB, send a byte", announce, 4000, 300),
    Attack("half-frames", "send 4 MiB of 8 and sit", half_frames, 100, 40, "stood still",
           small_flags={"limit_request_memory_bytes": 64 * MIB}, large=True),
    Attack("slow-loris", "a byte every 0.5 s", slow_loris, 1000, 200, "not complete",
           {"limit_frame_millis": 2000}, {"limit_frame_millis": 500}),
    Attack("never-read", "ask for 32 GiB each, read nothing", never_read, 500, 50, "took no byte",
           {"limit_send_millis": 1500}, {"limit_send_millis": 300}, preload=True),
    Attack("pipelines", "8000 requests behind a held FETCH, then reset, again and again", pipelines_then_reset, 300, 30),
    Attack("held", "hold FETCHes, then vanish, again and again", held_then_gone, 4000, 300),
    Attack("descriptors", "more connections than descriptors (ulimit -n 256)", flood, 3000, 500, descriptors=256),
    Attack("storm", "connect and go, as fast as possible", storm, 200, 100),
    Attack("foreign", "HTTP, TLS, SSH, HTTP/2", foreign, 50, 20, "looks like (HTTP|TLS|SSH|HTTP/2)"),
]


# --- the honest client and the measurement ---


def percentile(sorted_values: list[float], share: float) -> float:
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))]


@dataclass
class Latency:
    p50_ms: float
    p99_ms: float
    worst_ms: float

    @staticmethod
    def of(millis: list[float]) -> Latency:
        ordered = sorted(millis)
        return Latency(statistics.median(ordered), percentile(ordered, 0.99), ordered[-1])


def honest_round_trips(connection: Connection, seconds: float) -> Latency:
    """PRODUCE of 1 KiB and a FETCH of it, every 2 ms."""
    took = []
    end = time.monotonic() + seconds
    payload = b"h" * 1024
    while time.monotonic() < end:
        begin = time.monotonic()
        offset = connection.produce(TOPIC, [payload], partition=2).base_offset
        connection.fetch(TOPIC, offset, 2000, partition=2)
        took.append((time.monotonic() - begin) * 1000)
        time.sleep(0.002)
    return Latency.of(took)


class ResidentPeak:
    """Looks at the broker's resident memory every 10 ms."""

    def __init__(self, broker: harness.Broker) -> None:
        self.peak = 0
        self._broker = broker
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._stop.wait(0.01):
            self.peak = max(self.peak, self._broker.resident_bytes())

    def __enter__(self) -> ResidentPeak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


@dataclass
class Outcome:
    attack: Attack
    connections: int
    resident_before: int
    resident_peak: int
    resident_after: int
    before: Latency
    during: Latency
    large_ms: float | None  # the 7 MiB PRODUCE, during
    release_seconds: float
    cut: int  # connections, by the broker's own count
    lines: int  # about them in the log
    log: str


def measure(broker: harness.Broker, attack: Attack, connections: int, seconds: float) -> Outcome:
    """`broker` is fresh and stays; fails when it does not come back to what it was."""
    with broker.connect(timeout=60.0) as honest:
        if attack.preload:
            for _ in range(64):
                honest.produce(TOPIC, [b"f" * MIB])
        before = honest_round_trips(honest, max(0.5, seconds / 4))
        descriptors, resident = broker.open_descriptors(), broker.resident_bytes()
        context = multiprocessing.get_context("fork")
        ready, stop = context.Event(), context.Event()
        process = context.Process(
            target=_attack, args=(attack, (broker.host, broker.port), connections, ready, stop), daemon=True
        )
        process.start()
        large = None
        try:
            with ResidentPeak(broker) as watched:
                ready.wait(30)
                if attack.large:
                    time.sleep(min(1.0, seconds / 4))  # the attack's own time: it fills the memory
                    large = _large_produce(broker)
                during = honest_round_trips(honest, seconds)
                if attack.reason is not None:  # a busy machine may need longer than the measurement
                    broker.output.wait_for(f"closed .*{attack.reason}", 20)
        finally:
            stop.set()
            process.join(30)
            if process.is_alive():
                process.kill()
        release = _until_released(broker, descriptors)
        honest.expect_open("the honest client")
        after = broker.resident_bytes()
    log = _log_after_flush(broker)
    counted = [int(number) for number in re.findall(r"connections cut (\d+)", log)]
    lines = len(re.findall(r"closed [0-9.:]+: ", log))
    return Outcome(attack, connections, resident, watched.peak, after, before, during, large, release,
                   max(counted, default=0), lines, log)


def _attack(attack: Attack, address: tuple[str, int], connections: int, ready: multiprocessing.synchronize.Event,
            stop: multiprocessing.synchronize.Event) -> None:
    raise_descriptor_limit()
    attackers = Attackers(address, ready, stop)
    attack.run(attackers, connections)
    attackers.reset_all() if attack.name in ("pipelines", "held", "storm") else attackers.close_all()


def _large_produce(broker: harness.Broker) -> float:
    with broker.connect(timeout=120.0) as connection:
        begin = time.monotonic()
        connection.produce(TOPIC, [b"l" * (7 * MIB)], partition=1)
        return (time.monotonic() - begin) * 1000


def _until_released(broker: harness.Broker, descriptors: int) -> float:
    """Until no descriptor is open that was not before (segments may be), and a new connection is served."""
    begin = time.monotonic()
    harness.wait_until(lambda: broker.open_descriptors() <= descriptors + 2, "descriptors are released", 30)
    harness.wait_until(lambda: _serves(broker), "a new connection is served", 30)
    return time.monotonic() - begin


def _serves(broker: harness.Broker) -> bool:
    try:
        return broker.serves()
    except Misbehaviour:
        return False


def _log_after_flush(broker: harness.Broker) -> str:
    """What was printed, the rate line behind the attack included."""
    at = len(broker.output)
    broker.output.wait_for("connections", 3, at)
    return broker.output.text()


def settings(attack: Attack, small: bool) -> dict[str, object]:
    """Of the broker that is attacked."""
    connections = attack.small if small else attack.full
    flags: dict[str, object] = {"limit_connections": connections + 100, "metrics_interval_millis": 500}
    if attack.descriptors is not None:
        flags |= {"limit_open_segment_files": 8, "descriptors": attack.descriptors}
    return flags | attack.flags | (attack.small_flags if small else {})


def serve(data: Path, attack: Attack) -> harness.Broker:
    return harness.Broker(data, TOPICS, **settings(attack, small=False))  # type: ignore[arg-type]


def table(outcomes: Iterable[Outcome]) -> str:
    rows = [
        "| attack | connections | resident MiB before / peak / after | honest p50 / p99 ms before | during | released after s | cut, lines in the log |",
        "|---|---|---|---|---|---|---|",
    ]
    for outcome in outcomes:
        memory = " / ".join(f"{value / MIB:.0f}" for value in
                            (outcome.resident_before, outcome.resident_peak, outcome.resident_after))
        during = f"{outcome.during.p50_ms:.2f} / {outcome.during.p99_ms:.1f}"
        if outcome.large_ms is not None:
            during += f"; PRODUCE of 7 MiB {outcome.large_ms / 1000:.1f} s"
        rows.append(
            f"| {outcome.attack.says} | {outcome.connections} | {memory} | {outcome.before.p50_ms:.2f} / {outcome.before.p99_ms:.1f} | "
            f"{during} | {outcome.release_seconds:.2f} | {outcome.cut}, {outcome.lines} |"
        )
    return "\n".join(rows)
