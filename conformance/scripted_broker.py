"""A broker that says what a rule tells it to, for what no healthy broker can show a client, and that reads what it is sent
to the last byte.

It answers METADATA, PRODUCE and FETCH of its topics out of a Script. `mangle` then turns the answer to one kind of request
into whatever is to be sent instead.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from typing import Callable, Sequence

import booblik_wire as wire
from booblik_wire import Code

NOTHING: tuple[bytes, ...] = ()  # the request is never answered, and the connection stays open
PIECE_SECONDS = 0.004  # between two pieces, so that a client that waits for bytes sees them one by one


@dataclass(frozen=True)
class Seen:
    """A request as it came."""

    api_key: int
    version: int
    correlation_id: int
    topic: str = ""
    partition: int = -1
    ack: int = -1
    payloads: tuple[bytes, ...] = ()
    offset: int = -1
    max_bytes: int = -1


@dataclass(frozen=True)
class Reply:
    """`pieces` are sent one by one; then the connection ends, or serves on."""

    pieces: Sequence[bytes]
    then_end: bool = False


@dataclass
class Script:
    partitions: dict[str, int] = field(default_factory=lambda: {"conformance": 3, "single": 1})
    log_start: int = 0
    end: int = 0  # logEndOffset before a PRODUCE, and the high watermark
    records: bytes = b""  # the payload of any FETCH, cut at its maxBytes
    error: Code | None = None  # instead of any answer to a request of the kind `mangled`
    mangled: int | None = None  # the apiKey whose answers `mangle` gets; the others are sent as they are
    mangle: Callable[[bytes], Reply] | None = None  # of a whole answer, length field included


def parse_request(frame: bytes) -> Seen:
    """A frame without its length field. Raises WireError for what a client may not send."""
    cursor = wire.Cursor(frame, "request")
    api_key, version = cursor.number(">h", "apiKey"), cursor.number(">h", "apiVersion")
    correlation_id = cursor.number(">i", "correlationId")
    if (api_key, version) not in ((wire.PRODUCE, 1), (wire.FETCH, 1), (wire.FETCH, 2), (wire.METADATA, 1)):
        raise wire.WireError(f"request {correlation_id}: apiKey {api_key}, version {version}")
    if api_key == wire.METADATA:
        topics = [read_name(cursor) for _ in range(cursor.number(">i", "topicCount"))]
        cursor.finish()
        return Seen(api_key, version, correlation_id, topics[0] if len(topics) == 1 else "")
    topic, partition = read_name(cursor), cursor.number(">i", "partitionId")
    if api_key == wire.PRODUCE:
        ack, count = cursor.number(">b", "ackPolicy"), cursor.number(">i", "recordCount")
        payloads = tuple(cursor.take(cursor.number(">i", "payloadSize"), "payload") for _ in range(count))
        cursor.finish()
        if ack not in (0, 1, 2) or not payloads or not all(payloads):
            raise wire.WireError(f"PRODUCE with ackPolicy {ack} and records of {[len(one) for one in payloads]} bytes")
        return Seen(api_key, version, correlation_id, topic, partition, ack, payloads)
    offset, max_bytes = cursor.number(">q", "fetchOffset"), cursor.number(">i", "maxBytes")
    if version == 2:
        wait, least = cursor.number(">i", "maxWaitMillis"), cursor.number(">i", "minBytes")
        if wait < 0 or not 0 <= least <= max_bytes:
            raise wire.WireError(f"FETCH with maxWaitMillis {wait}, minBytes {least} of maxBytes {max_bytes}")
    cursor.finish()
    if partition < 0 or offset < 0 or max_bytes < 1:
        raise wire.WireError(f"FETCH of partition {partition} at {offset} with maxBytes {max_bytes}")
    return Seen(api_key, version, correlation_id, topic, partition, offset=offset, max_bytes=max_bytes)


def read_name(cursor: wire.Cursor) -> str:
    length = cursor.number(">H", "topicLength")
    raw = cursor.take(length, "topic")
    try:
        name = raw.decode()
    except UnicodeDecodeError as error:
        raise wire.WireError(f"topic {raw!r} is not UTF-8") from error
    if not 1 <= length <= wire.TOPIC_NAME_MAX:
        raise wire.WireError(f"a topic of {length} bytes")
    return name


class ScriptedBroker:
    def __init__(self, script: Script) -> None:
        self.script = script
        self.seen: list[Seen] = []  # of all connections
        self.problems: list[str] = []  # requests that no client may send
        self.connections = 0
        self._lock = threading.Lock()  # guards everything above and the two below
        self._peers: list[socket.socket] = []
        self._closed = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> ScriptedBroker:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._closed = True
            peers = list(self._peers)
        for one in (self._listener, *peers):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._listener.close()

    def of_kind(self, api_key: int) -> list[Seen]:
        with self._lock:
            return [one for one in self.seen if one.api_key == api_key]

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._closed:
                    peer.close()
                    return
                self._peers.append(peer)
                self.connections += 1
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with peer, peer.makefile("rb") as stream:
                while (frame := self._next_frame(stream.read)) is not None:
                    if not self._answer(peer, frame):
                        return
        except (OSError, ValueError):
            pass  # the client has gone

    def _next_frame(self, read: Callable[[int], bytes]) -> bytes | None:
        header = read(4)
        if len(header) < 4:
            if header:
                self._complain(f"the stream ends inside a frame length: {header.hex()}")
            return None
        length: int = struct.unpack(">i", header)[0]
        if not wire.REQUEST_HEADER_BYTES <= length <= wire.FRAME_LENGTH_MAX:
            self._complain(f"a frame of length {length}")
            return None
        frame = read(length)
        if len(frame) < length:
            self._complain(f"the stream ends inside a frame: {len(frame)} of {length} bytes")
            return None
        return frame

    def _complain(self, sentence: str) -> None:
        with self._lock:
            self.problems.append(sentence)

    def _answer(self, peer: socket.socket, frame: bytes) -> bool:
        try:
            request = parse_request(frame)
        except wire.WireError as error:
            self._complain(str(error))
            return False
        with self._lock:
            self.seen.append(request)
        answer = self._healthy(request)
        if request.api_key == self.script.mangled and self.script.mangle is not None:
            reply = self.script.mangle(answer)
        else:
            reply = Reply([answer] if answer else NOTHING)
        for index, piece in enumerate(reply.pieces):
            if index:
                time.sleep(PIECE_SECONDS)
            peer.sendall(piece)
        return not reply.then_end

    def _healthy(self, request: Seen) -> bytes:
        """Empty for what has no answer."""
        script = self.script
        error, body = script.error if request.api_key == script.mangled else None, b""
        if error is None and request.topic and request.topic not in script.partitions:
            error = Code.UNKNOWN_TOPIC_OR_PARTITION
        if error is not None:
            pass
        elif request.api_key == wire.METADATA:
            topics = [request.topic] if request.topic else sorted(script.partitions, key=str.encode)
            body = struct.pack(">i", len(topics)) + b"".join(map(self._metadata_of, topics))
        elif request.api_key == wire.PRODUCE:
            body = struct.pack(">qq", script.end, script.end + len(request.payloads))
        else:
            payload = script.records[: request.max_bytes]
            body = struct.pack(">qi", script.end, len(payload)) + payload
        if request.api_key == wire.PRODUCE and request.ack == wire.ACK_NONE:
            return b""
        return wire.frame(struct.pack(">ih", request.correlation_id, error or Code.NONE) + body)

    def _metadata_of(self, topic: str) -> bytes:
        count = self.script.partitions[topic]
        partitions = (struct.pack(">iqq", number, self.script.log_start, self.script.end) for number in range(count))
        return wire.encode_name(topic) + struct.pack(">i", count) + b"".join(partitions)
