#!/usr/bin/env python3
"""A broker of the protocol in memory, one thread per connection: something to test the rules and the harness with.

It keeps every rule, or all but those that `broken` names: then it is the counterpart that the rule of that name must catch.
"""

from __future__ import annotations

import argparse
import select
import signal
import socket
import struct
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

import booblik_wire as wire  # noqa: E402
from booblik_wire import Code  # noqa: E402
from reference_log import ReferenceLog  # noqa: E402
from reference_requests import Fetch, Metadata, Produce, Refused, Request, decode  # noqa: E402

WAIT_MS_MAX = 60_000


class ReferenceBroker:
    def __init__(
        self,
        topics: dict[str, int],
        *,
        port: int = 0,
        segment_bytes: int = 512 << 20,
        broken: frozenset[str] = frozenset(),
    ) -> None:
        self.broken = broken
        self.segment_bytes = segment_bytes
        self.logs = {name: [ReferenceLog(segment_bytes, broken) for _ in range(count)] for name, count in topics.items()}
        self.stopping = threading.Event()
        self.lock = threading.Lock()  # taken by every request when held FETCHes are to delay others
        self.sessions: set[Session] = set()
        self.listener = socket.create_server(("127.0.0.1", port), backlog=256)
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self) -> ReferenceBroker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def accept(self) -> None:
        while not self.stopping.is_set():
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            session = Session(self, peer)
            self.sessions.add(session)
            threading.Thread(target=session.run, daemon=True).start()

    def close(self) -> None:
        """Held FETCHes are answered, then the connections end."""
        self.stopping.set()
        self.listener.close()
        for logs in self.logs.values():
            for log in logs:
                with log.changed:
                    log.changed.notify_all()
        for session in list(self.sessions):
            session.finish_receiving()

    def exists(self, topic: str, partition: int) -> bool:
        return 0 <= partition < len(self.logs.get(topic, []))

    def log(self, topic: str, partition: int) -> ReferenceLog:
        return self.logs[topic][0 if "produce.partitions" in self.broken else partition]


class Session:
    """One connection. Requests are carried out one behind the other, which makes their answers ordered."""

    def __init__(self, broker: ReferenceBroker, peer: socket.socket) -> None:
        self.broker = broker
        self.broken = broker.broken
        self.peer = peer
        self.peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = bytearray()
        self.requests = 0
        self.held = False
        self.late_answer: bytes | None = None  # pipeline.order
        self.late_appends: list[tuple[ReferenceLog, list[bytes]]] = []  # pipeline.*-sees-produce
        self.send_lock = threading.Lock()

    def finish_receiving(self) -> None:
        try:
            self.peer.shutdown(socket.SHUT_RD)
        except OSError:
            pass

    def run(self) -> None:
        try:
            while self.serve_received() and self.receive():
                pass
            if "pipeline.half-close" in self.broken:
                self.broker.stopping.wait()
        except OSError:
            pass
        finally:
            self.broker.sessions.discard(self)
            self.peer.close()

    def receive(self) -> bool:
        data = self.peer.recv(1 << 20)
        if not data and "pipeline.cut-frame" in self.broken and len(self.received) > 4:
            length = struct.unpack_from(">i", self.received)[0]
            data = bytes(4 + length - len(self.received))
        if data.endswith(b"\xff\xff\xff\xff") and "frame.answers-before-close" in self.broken:
            return False
        self.received += data
        return bool(data)

    def serve_received(self) -> bool:
        """Carries out every whole frame; False when the connection has to be closed."""
        while len(self.received) >= 4:
            length: int = struct.unpack_from(">i", self.received)[0]
            rule = {0: "frame.length-zero"}.get(length, "frame.length-negative" if length < 0 else "frame.length-above-max")
            if "frame.length-max" in self.broken and length == wire.FRAME_LENGTH_MAX:
                return False
            if not 1 <= length <= wire.FRAME_LENGTH_MAX:
                if rule not in self.broken:
                    return False
                length = 0
            if len(self.received) < 4 + length:
                return "frame.cut-anywhere" not in self.broken
            frame = bytes(self.received[4 : 4 + length])
            del self.received[: 4 + length]
            if length and not self.serve(frame):
                return False
        return True

    def serve(self, frame: bytes) -> bool:
        self.requests += 1
        if "pipeline.deep" in self.broken and self.requests > 4096:
            return False
        if len(frame) < wire.REQUEST_HEADER_BYTES:
            if "frame.short" in self.broken:
                return False
            self.answer(0, Code.CORRUPT_REQUEST)
            return True
        correlation_id: int = struct.unpack_from(">i", frame, 4)[0]
        if "frame.correlation-id" in self.broken:
            correlation_id &= 0x7FFFFFFF
        try:
            request = decode(frame, self.broken, self.broker.exists)
            if "held.other-connections" in self.broken:
                with self.broker.lock:
                    self.carry_out(correlation_id, request)
            else:
                self.carry_out(correlation_id, request)
        except Refused as refused:
            if not refused.silent:
                self.answer(correlation_id, refused.code)
        return True

    def answer(self, correlation_id: int, code: Code, body: bytes = b"", late: bool = False) -> None:
        data = wire.frame(struct.pack(">ih", correlation_id, code) + body)
        with self.send_lock:
            if late and self.late_answer is None and "pipeline.order" in self.broken:
                self.late_answer = data
                return
            self.peer.sendall(data)
            if self.late_answer is not None:
                self.peer.sendall(self.late_answer)
                self.late_answer = None

    def carry_out(self, correlation_id: int, request: Request) -> None:
        if isinstance(request, Metadata):
            self.answer(correlation_id, Code.NONE, self.metadata(request))
            self.append_late("pipeline.metadata-sees-produce")
        elif isinstance(request, Produce):
            self.produce(correlation_id, request)
        elif "held.own-connection" in self.broken and request.max_wait_ms > 0:
            threading.Thread(target=self.fetch, args=(correlation_id, request), daemon=True).start()
        else:
            self.fetch(correlation_id, request)
            self.append_late("pipeline.fetch-sees-produce")

    def append_late(self, rule: str) -> None:
        if rule in self.broken:
            for log, payloads in self.late_appends:
                log.append(payloads)
            self.late_appends.clear()

    def require_known(self, request: Produce | Fetch) -> ReferenceLog:
        if not self.broker.exists(request.topic, request.partition):
            kind = "produce" if isinstance(request, Produce) else "fetch"
            code = Code.CORRUPT_REQUEST if f"{kind}.unknown" in self.broken else Code.UNKNOWN_TOPIC_OR_PARTITION
            if isinstance(request, Fetch) and request.offset > 10 and "order.topic-before-state" in self.broken:
                code = Code.OFFSET_OUT_OF_RANGE
            raise Refused(code)
        return self.broker.log(request.topic, request.partition)

    def metadata(self, request: Metadata) -> bytes:
        broken, logs = self.broken, self.broker.logs
        unknown = [name for name in request.topics if name not in logs]
        if unknown and "metadata.unknown" not in broken:
            raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION)
        names = [name for name in request.topics if name in logs] or list(logs)
        if "metadata.named" in broken:
            names = list(logs)
        if "metadata.duplicate" not in broken:
            names = list(set(names))
        names.sort(key=str.encode, reverse="metadata.order" in broken)
        body = struct.pack(">i", len(names))
        for name in names:
            body += wire.encode_name(name) + struct.pack(">i", len(logs[name]))
            for number, log in enumerate(logs[name]):
                end = 0 if "metadata.watermark" in broken else log.end
                body += struct.pack(">iqq", number, log.start, end)
        return body

    def produce(self, correlation_id: int, request: Produce) -> None:
        silent = request.ack == wire.ACK_NONE
        try:
            log = self.require_known(request)
            if not all(map(log.fits, request.payloads)):
                raise Refused(Code.RECORD_TOO_LARGE)
        except Refused as refused:
            rule = "large.none" if refused.code is Code.RECORD_TOO_LARGE else "none.unknown"
            refused.silent = silent and rule not in self.broken
            raise
        if "held.reset" in self.broken and any(session.held_peer_is_gone() for session in list(self.broker.sessions)):
            raise OSError("somebody reset a connection")
        if silent and any(rule.startswith("pipeline.") for rule in self.broken):
            self.late_appends.append((log, request.payloads))
            return
        base = log.append(request.payloads)
        self.append_late("pipeline.produce-order")
        end = base + len(request.payloads)
        if "produce.offsets" in self.broken:
            base = end
        if not silent or "none.silent" in self.broken:
            self.answer(correlation_id, Code.NONE, struct.pack(">qq", base, end), late=request.ack == wire.ACK_FORCED)

    def fetch(self, correlation_id: int, request: Fetch) -> None:
        log = self.require_known(request)
        last = log.end - 1 if "fetch.at-end" in self.broken else log.end
        if not log.start <= request.offset <= last:
            if "held.out-of-range" in self.broken:
                self.broker.stopping.wait(request.max_wait_ms / 1000)
            if "fetch.out-of-range" not in self.broken:
                raise Refused(Code.OFFSET_OUT_OF_RANGE)
            request.offset = last
        if request.max_wait_ms > 0:
            self.hold(log, request)
        elif "held.wait-zero" in self.broken and log.available(request.offset).now < request.min_bytes:
            request.max_bytes = 0
        with log.changed:
            payload = log.read(request.offset, request.max_bytes)
            announced = log.end - 1 if "fetch.up-to-watermark" in self.broken else log.end
        self.answer(correlation_id, Code.NONE, struct.pack(">qi", announced, len(payload)) + payload)

    def hold(self, log: ReferenceLog, request: Fetch) -> None:
        """Returns when the FETCH is to be answered."""
        if "held.elapsed" in self.broken:
            return
        longest_ms = 500 if "held.wait-clamp" in self.broken else WAIT_MS_MAX
        deadline = time.monotonic() + min(request.max_wait_ms, longest_ms) / 1000
        self.held = True
        try:
            with log.changed:
                satisfied = self.wait(log, request, deadline)
        finally:
            self.held = False
        if "held.elapsed-with-data" in self.broken and not satisfied:
            request.max_bytes = 0
        if "held.half-close" in self.broken and self.peer_has_finished():
            raise OSError("the peer has finished sending")

    def wait(self, log: ReferenceLog, request: Fetch, deadline: float) -> bool:
        begin = log.end
        while not self.broker.stopping.is_set():
            available = log.available(request.offset)
            wanted = min(max(request.min_bytes, 1), available.ever)
            if "held.min-bytes" in self.broken:
                wanted = 1
            lost = "held.wake-up" in self.broken or ("held.data-there" in self.broken and log.end == begin)
            if available.now >= wanted and not lost:
                return True
            left = deadline - time.monotonic()
            if left <= 0 or self.peer_is_gone():
                return False
            log.changed.wait(min(left, 0.05))
        return False

    def held_peer_is_gone(self) -> bool:
        return self.held and self.peer_is_gone()

    def peer_is_gone(self) -> bool:
        poll = select.poll()
        poll.register(self.peer, 0)
        return any(events & select.POLLERR for _, events in poll.poll(0))

    def peer_has_finished(self) -> bool:
        try:
            return self.peer.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    # The flags of `booblik serve`, so that BOOBLIK_PROGRAM may name this file for tests that need no disk.
    parser.add_argument("serve", nargs="?", choices=["serve"])
    parser.add_argument("--bind-address", choices=["127.0.0.1"])
    parser.add_argument("--data-dir", help="has no effect")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--topics", default="default:1")
    parser.add_argument("--segment-capacity-bytes", type=int, default=512 << 20)
    parser.add_argument("--broken", default="")
    options = parser.parse_args()
    topics = {name: int(count) for name, count in (one.split(":") for one in options.topics.split(","))}
    broken: frozenset[str] = frozenset(filter(None, options.broken.split(",")))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    broker = ReferenceBroker(topics, port=options.port, segment_bytes=options.segment_capacity_bytes, broken=broken)
    print(f"booblik listening on 127.0.0.1:{broker.port}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    broker.close()
    deadline = time.monotonic() + 5
    while broker.sessions and time.monotonic() < deadline:
        time.sleep(0.005)  # threads end by themselves; there is nothing to wait on


if __name__ == "__main__":
    main()
