"""One connection to a broker, as a test sees it: raw bytes where a rule is broken on purpose, checked answers elsewhere.

Every wait has a deadline. What the broker does wrong is raised as Misbehaviour with a sentence that says what was
expected.
"""

from __future__ import annotations

import itertools
import socket
import struct
import time
from typing import Callable, Sequence, TypeVar

import booblik_wire as wire

T = TypeVar("T")


class Misbehaviour(Exception):
    """The broker did what the protocol does not allow."""


class Closed(Misbehaviour):
    """The broker closed or reset the connection where an answer was due."""


class Connection:
    def __init__(self, host: str, port: int, timeout: float = 10.0, receive_buffer: int | None = None) -> None:
        self.timeout = timeout
        self._ids = itertools.count(1_000_001)
        self._received = bytearray()
        self._socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        if receive_buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect((host, port))
        except OSError:
            self._socket.close()
            raise
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        return self._socket.fileno()

    # --- sending ---

    def send(self, data: bytes | bytearray | memoryview) -> None:
        try:
            self._socket.sendall(data)
        except TimeoutError as error:
            raise Misbehaviour(f"the broker took no bytes for {self.timeout:g} s") from error
        except OSError as error:
            raise Closed(f"sending failed: {error}") from error

    def send_what_fits(self, data: bytes) -> int:
        """As much as goes without waiting; returns how much."""
        self._socket.settimeout(0)
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        finally:
            self._socket.settimeout(self.timeout)

    def next_id(self) -> int:
        return next(self._ids)

    def send_request(self, api_key: int, api_version: int, body: bytes) -> int:
        """Sends without waiting and returns the correlation id."""
        correlation_id = self.next_id()
        self.send(wire.request(api_key, api_version, correlation_id, body))
        return correlation_id

    def send_produce(
        self, topic: str, payloads: Sequence[bytes], partition: int = 0, ack: int = wire.ACK_WRITTEN
    ) -> int:
        return self.send_request(wire.PRODUCE, 1, wire.produce_body(topic, partition, ack, payloads))

    def send_fetch(
        self,
        topic: str,
        offset: int,
        max_bytes: int = 1 << 20,
        partition: int = 0,
        max_wait_ms: int | None = None,
        min_bytes: int = 0,
    ) -> int:
        version = 1 if max_wait_ms is None else 2
        body = wire.fetch_body(topic, partition, offset, max_bytes, max_wait_ms, min_bytes)
        return self.send_request(wire.FETCH, version, body)

    def send_metadata(self, topics: Sequence[str] = ()) -> int:
        return self.send_request(wire.METADATA, 1, wire.metadata_body(topics))

    def hold_fetch(self, topic: str, offset: int, max_wait_ms: int, max_bytes: int = 1000) -> int:
        """Sends a FETCH that is going to be held, and returns when it has arrived: a METADATA ahead of it is answered."""
        ahead, held = self.next_id(), self.next_id()
        fetch = wire.fetch_body(topic, 0, offset, max_bytes, max_wait_ms, 1)
        metadata = wire.request(wire.METADATA, 1, ahead, wire.metadata_body())
        self.send(metadata + wire.request(wire.FETCH, 2, held, fetch))
        self.expect_metadata(ahead)
        return held

    # --- receiving ---

    def receive_some(self, what: str, most: int = 1 << 20) -> bool:
        """Takes what has come, for a later answer; waits for a byte. False at the end of the stream."""
        try:
            data = self._socket.recv(most)
        except TimeoutError as error:
            raise Misbehaviour(f"{what}: nothing came within {self.timeout:g} s") from error
        except OSError as error:
            raise Closed(f"{what}: the connection broke: {error}") from error
        self._received += data
        return bool(data)

    def _take(self, count: int, what: str) -> bytes:
        while len(self._received) < count:
            if not self.receive_some(what):
                raise Closed(f"{what}: the broker closed the connection ({len(self._received)} of {count} bytes came)")
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken

    def holds_answer(self) -> bool:
        """Whether a whole answer has come already, so that taking it will not wait."""
        return len(self._received) >= 4 and len(self._received) >= 4 + struct.unpack_from(">i", self._received)[0]

    def receive(self, what: str = "an answer") -> wire.Response:
        length: int = struct.unpack(">i", self._take(4, what))[0]
        if not 6 <= length <= wire.FRAME_LENGTH_MAX:
            raise Misbehaviour(f"{what}: response frame length {length}, allowed is 6..{wire.FRAME_LENGTH_MAX}")
        try:
            return wire.decode_response(self._take(length, what))
        except wire.WireError as error:
            raise Misbehaviour(f"{what}: {error}") from error

    def expect(self, correlation_id: int, code: wire.Code = wire.Code.NONE, what: str = "an answer") -> bytes:
        """The next answer, which must be this one; returns its body."""
        response = self.receive(what)
        if response.correlation_id != correlation_id:
            raise Misbehaviour(
                f"{what}: expected the answer to {correlation_id}, got {response.code.name} for {response.correlation_id}"
            )
        if response.code is not code:
            raise Misbehaviour(f"{what}: expected {code.name}, got {response.code.name}")
        return response.body

    def expect_produced(self, correlation_id: int) -> wire.Produced:
        return decoded(wire.decode_produced, self.expect(correlation_id, what="PRODUCE"))

    def expect_fetched(self, correlation_id: int) -> wire.Fetched:
        return decoded(wire.decode_fetched, self.expect(correlation_id, what="FETCH"))

    def expect_metadata(self, correlation_id: int) -> list[wire.Topic]:
        return decoded(wire.decode_metadata, self.expect(correlation_id, what="METADATA"))

    def expect_end(self, what: str = "the end of the connection") -> None:
        """The broker closes, in good order or by reset, and answers nothing more."""
        try:
            while self.receive_some(what):
                pass
        except Closed:
            pass
        if self._received:
            raise Misbehaviour(f"{what}: {len(self._received)} bytes came before it: {bytes(self._received[:64]).hex()}")

    def expect_open(self, what: str = "the connection") -> None:
        """Nothing is on its way and the connection still serves: the next answer is that of a METADATA sent now."""
        body = self.expect(self.send_metadata(), what=f"{what}, METADATA behind it")
        decoded(wire.decode_metadata, body)

    def answered(self, seconds: float) -> bool:
        """Whether something comes within the time: bytes or the end."""
        if self._received:
            return True
        self._socket.settimeout(seconds)
        try:
            self.receive_some("waiting")
            return True
        except Closed:
            return True
        except Misbehaviour:
            return False
        finally:
            self._socket.settimeout(self.timeout)

    # --- whole round trips ---

    def produce(
        self, topic: str, payloads: Sequence[bytes], partition: int = 0, ack: int = wire.ACK_WRITTEN
    ) -> wire.Produced:
        return self.expect_produced(self.send_produce(topic, payloads, partition, ack))

    def fetch(
        self,
        topic: str,
        offset: int,
        max_bytes: int = 1 << 20,
        partition: int = 0,
        max_wait_ms: int | None = None,
        min_bytes: int = 0,
    ) -> wire.Fetched:
        return self.expect_fetched(self.send_fetch(topic, offset, max_bytes, partition, max_wait_ms, min_bytes))

    def metadata(self, topics: Sequence[str] = ()) -> list[wire.Topic]:
        return self.expect_metadata(self.send_metadata(topics))

    def partition(self, topic: str, partition: int = 0) -> wire.Partition:
        return self.metadata([topic])[0].partitions[partition]

    def read_all(self, topic: str, partition: int = 0, offset: int | None = None, verify: bool = True) -> list[bytes]:
        """Every record up to the end that METADATA announces now."""
        known = self.partition(topic, partition)
        at = known.log_start_offset if offset is None else offset
        payloads: list[bytes] = []
        while at < known.high_watermark:
            split = decoded(
                lambda body: wire.split_records(body, verify=verify),
                self.fetch(topic, at, wire.INT32_MAX, partition).payload,
            )
            if not split.payloads:
                raise Misbehaviour(f"{topic}-{partition}: no whole record at {at}, the end is {known.high_watermark}")
            payloads += split.payloads
            at += len(split.payloads)
        return payloads

    # --- ending ---

    def half_close(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Closes so that the broker sees a reset and not an orderly end."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def close(self) -> None:
        self._socket.close()


def decoded(decode: Callable[[bytes], T], body: bytes) -> T:
    try:
        return decode(body)
    except (wire.WireError, UnicodeDecodeError) as error:
        raise Misbehaviour(str(error)) from error


def elapsed_ms(since: float) -> float:
    return (time.monotonic() - since) * 1000
