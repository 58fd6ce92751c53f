"""Valid frames, damaged in every way that is small, against the real program: an answer with the right correlation id or
the end of the connection, never a hang, never an append that was not answered as one. tests/broker does the same in a
simulated world; here the kernel's sockets are in between."""

from __future__ import annotations

import struct
import unittest
from collections.abc import Iterator

import harness  # first: it makes conformance importable
import booblik_wire as wire
from booblik_socket import Closed, Connection
from booblik_wire import Code
from reference_requests import Fetch, Metadata, Produce, Refused, decode

TOPICS = {"orders": 3, "a": 1}
ID = 0x01020304


def valid_frames() -> list[bytes]:
    bodies = [(wire.PRODUCE, 1, wire.produce_body("orders", 0, ack, [b"one", b"three"])) for ack in (0, 1, 2)]
    bodies.append((wire.FETCH, 1, wire.fetch_body("orders", 0, 0, 100)))
    bodies.append((wire.FETCH, 2, wire.fetch_body("orders", 0, 0, 1000, 5, 1)))
    bodies.append((wire.METADATA, 1, wire.metadata_body(["orders", "a"])))
    return [wire.request(api, version, ID, body) for api, version, body in bodies]


def damaged(valid: bytes) -> Iterator[bytes]:
    yield valid
    for at in range(len(valid)):
        for value in (0x00, 0x01, 0x7F, 0x80, 0xFF):
            yield valid[:at] + bytes([value]) + valid[at + 1 :]
        yield valid[:at]
        if at >= 4:  # and with a length field that tells the truth
            yield struct.pack(">i", at - 4) + valid[4:at]
    for extra in range(1, 17):
        yield valid + bytes(extra)
        yield struct.pack(">i", len(valid) - 4 + extra) + valid[4:] + bytes(extra)


class Model:
    """What has to come back, and what is stored then."""

    def __init__(self) -> None:
        self.ends = {(topic, number): 0 for topic, count in TOPICS.items() for number in range(count)}

    def exists(self, topic: str, partition: int) -> bool:
        return (topic, partition) in self.ends

    def answers(self, stream: bytes) -> list[tuple[int, Code | None, wire.Produced | None]]:
        expected = []
        while len(stream) >= 4:
            length = struct.unpack_from(">i", stream)[0]
            if not 0 < length <= min(wire.FRAME_LENGTH_MAX, len(stream) - 4):
                break
            answer = self.answer(stream[4 : 4 + length])
            if answer is not None:
                expected.append(answer)
            stream = stream[4 + length :]
        return expected

    def answer(self, frame: bytes) -> tuple[int, Code | None, wire.Produced | None] | None:
        """Correlation id, code (None: the log decides), and the answer to a PRODUCE that is taken."""
        if len(frame) < wire.REQUEST_HEADER_BYTES:
            return 0, Code.CORRUPT_REQUEST, None
        number = struct.unpack_from(">i", frame, 4)[0]
        try:
            request = decode(frame, frozenset(), self.exists)
        except Refused as refused:
            return None if refused.silent else (number, refused.code, None)
        if isinstance(request, Metadata):
            known = all(name in TOPICS for name in request.topics)
            return number, Code.NONE if known else Code.UNKNOWN_TOPIC_OR_PARTITION, None
        place = request.topic, request.partition
        if isinstance(request, Fetch):
            return number, None if place in self.ends else Code.UNKNOWN_TOPIC_OR_PARTITION, None
        return self.produce(number, request, place)

    def produce(
        self, number: int, request: Produce, place: tuple[str, int]
    ) -> tuple[int, Code | None, wire.Produced | None] | None:
        produced = None
        code = Code.UNKNOWN_TOPIC_OR_PARTITION
        if place in self.ends:
            base = self.ends[place]
            self.ends[place] = base + len(request.payloads)
            produced, code = wire.Produced(base, self.ends[place]), Code.NONE
        return None if request.ack == wire.ACK_NONE else (number, code, produced)


class DamagedFrames(harness.ProcessTest):
    def test_each_is_answered_or_closed(self) -> None:
        broker = self.serve("orders:3,a:1")
        model = Model()
        sessions = 0
        for valid in valid_frames():
            for stream in damaged(valid):
                with broker.connect(timeout=20.0) as connection:
                    self.check(connection, stream, model)
                sessions += 1
            with broker.connect() as connection:
                stored = {
                    (topic.name, partition.number): partition.high_watermark
                    for topic in connection.metadata()
                    for partition in topic.partitions
                }
            self.assertEqual(stored, model.ends)
        self.assertGreater(sessions, 1500)
        self.assertEqual(broker.stop(), 0)

    def check(self, connection: Connection, stream: bytes, model: Model) -> None:
        expected = model.answers(stream)
        connection.send(stream)
        try:
            connection.half_close()
        except OSError:  # closed already, for its length
            pass
        for number, code, produced in expected:
            response = connection.receive(f"the answer to {stream.hex()}")
            self.assertEqual(response.correlation_id, number, stream.hex())
            if code is not None:
                self.assertIs(response.code, code, stream.hex())
            if produced is not None:
                self.assertEqual(wire.decode_produced(response.body), produced, stream.hex())
        try:
            connection.expect_end(f"behind the answers to {stream.hex()}")
        except Closed:
            pass


if __name__ == "__main__":
    unittest.main()
