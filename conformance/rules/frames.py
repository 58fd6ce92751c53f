"""Section 1: frames, headers, and the order of checks before a body is looked at."""

from __future__ import annotations

import struct

import booblik_wire as wire
from booblik_wire import Code
from rules.registry import Target, refused, require, rule


def closes_without_answer(target: Target, frame_length: int) -> None:
    with target.connect() as connection:
        # Bytes behind the length show that the broker does not try to find the next frame in them.
        connection.send(struct.pack(">i", frame_length) + wire.request(wire.METADATA, 1, 7, wire.metadata_body()))
        connection.expect_end(f"frame length {frame_length}")


@rule("frame.length-zero", "1", "a frame length of 0 closes the connection, nothing is answered")
def length_zero(target: Target) -> None:
    closes_without_answer(target, 0)


@rule("frame.length-negative", "1", "a negative frame length closes the connection, nothing is answered")
def length_negative(target: Target) -> None:
    for length in (-1, -8, wire.INT32_MIN):
        closes_without_answer(target, length)


@rule("frame.length-above-max", "1", "a frame length above 8 MiB closes the connection, nothing is answered")
def length_above_max(target: Target) -> None:
    for length in (wire.FRAME_LENGTH_MAX + 1, wire.INT32_MAX):
        closes_without_answer(target, length)


@rule("frame.length-max", "1", "a frame of exactly 8 MiB is read and answered")
def length_max(target: Target) -> None:
    with target.connect() as connection:
        padding = wire.FRAME_LENGTH_MAX - wire.REQUEST_HEADER_BYTES
        sent = connection.send_request(99, 1, bytes(padding))
        connection.expect(sent, Code.UNSUPPORTED_VERSION, "frame of 8 MiB")
        connection.expect_open("after a frame of 8 MiB")


@rule("frame.answers-before-close", "1", "requests before a bad frame length are still answered")
def answers_before_close(target: Target) -> None:
    with target.connect() as connection:
        # One send: the broker has the bad length at hand while the answers are still due.
        requests = [
            (connection.next_id(), wire.produce_body(target.topic, 0, wire.ACK_FORCED, target.payloads(1)))
            for _ in range(3)
        ]
        stream = b"".join(wire.request(wire.PRODUCE, 1, number, body) for number, body in requests)
        connection.send(stream + struct.pack(">i", -1))
        for number, _ in requests:
            connection.expect_produced(number)
        connection.expect_end("a bad length behind three requests")


@rule("frame.short", "1", "a frame of 1..7 bytes is answered CORRUPT_REQUEST with correlation id 0; the connection stays")
def short(target: Target) -> None:
    for length in range(1, wire.REQUEST_HEADER_BYTES):
        with target.connect() as connection:
            connection.send(wire.frame(struct.pack(">hhi", wire.METADATA, 1, 0x01020304)[:length]))
            connection.expect(0, Code.CORRUPT_REQUEST, f"frame of {length} bytes")
            connection.expect_open(f"after a frame of {length} bytes")


@rule("frame.correlation-id", "1", "an answer carries the correlation id of its request, whatever the number")
def correlation_id(target: Target) -> None:
    with target.connect() as connection:
        for number in (0, 1, -1, wire.INT32_MAX, wire.INT32_MIN, 0x01020304):
            connection.send(wire.request(wire.METADATA, 1, number, wire.metadata_body([target.topic])))
            connection.expect(number)
            connection.send(wire.request(99, 1, number, b""))
            connection.expect(number, Code.UNSUPPORTED_VERSION)


@rule("frame.cut-anywhere", "1", "how the bytes of a request are cut on their way makes no difference")
def cut_anywhere(target: Target) -> None:
    with target.connect() as connection:
        base = connection.partition(target.topic).high_watermark
        payloads = []
        while True:
            payloads += target.payloads(1)
            number = connection.next_id()
            body = wire.produce_body(target.topic, 0, wire.ACK_WRITTEN, payloads[-1:])
            stream = wire.request(wire.PRODUCE, 1, number, body)
            cut = len(payloads)
            if cut == len(stream):
                break
            # The first part travels behind a METADATA, whose answer shows that it has arrived alone.
            ahead = connection.next_id()
            connection.send(wire.request(wire.METADATA, 1, ahead, wire.metadata_body()) + stream[:cut])
            connection.expect_metadata(ahead)
            connection.send(stream[cut:])
            connection.expect_produced(number)
        stored = connection.read_all(target.topic, offset=base)
        require(stored == payloads[:-1], "PRODUCEs that came in two parts are not stored as they were sent")


@rule("version.unknown-api", "1", "an unknown apiKey is answered UNSUPPORTED_VERSION")
def unknown_api(target: Target) -> None:
    for api_key in (0, 4, 5, 18, 99, -1, 32767, -32768):
        refused(target, api_key, 1, b"", Code.UNSUPPORTED_VERSION, f"apiKey {api_key}")


SPOKEN = {wire.PRODUCE: {1}, wire.FETCH: {1, 2}, wire.METADATA: {1}}


@rule("version.unknown-version", "1", "a version that is not spoken is answered UNSUPPORTED_VERSION")
def unknown_version(target: Target) -> None:
    for api_key, spoken in SPOKEN.items():
        for version in (0, 1, 2, 3, -1, 32767, 257):
            if version not in spoken:
                body = wire.fetch_body(target.topic, 0, 0, 1, 0, 0)
                refused(target, api_key, version, body, Code.UNSUPPORTED_VERSION, f"apiKey {api_key} version {version}")


@rule("order.version-before-body", "1", "the version is checked before the body")
def version_before_body(target: Target) -> None:
    for api_key in SPOKEN:
        for body in (b"", b"\xff" * 3, b"\x00\x00"):
            refused(target, api_key, 9, body, Code.UNSUPPORTED_VERSION, f"apiKey {api_key} version 9 with a corrupt body")
    # A PRODUCE of an unknown version has no ackPolicy that could ask for silence.
    silent = wire.produce_body(target.topic, 0, wire.ACK_NONE, target.payloads(1))
    refused(target, wire.PRODUCE, 2, silent, Code.UNSUPPORTED_VERSION, "PRODUCE version 2 with ackPolicy 0")


def valid_bodies(target: Target) -> dict[str, tuple[int, int, bytes]]:
    return {
        "PRODUCE": (wire.PRODUCE, 1, wire.produce_body(target.topic, 0, wire.ACK_WRITTEN, target.payloads(2))),
        "FETCH v1": (wire.FETCH, 1, wire.fetch_body(target.topic, 0, 0, 100)),
        "FETCH v2": (wire.FETCH, 2, wire.fetch_body(target.topic, 0, 0, 100, 0, 0)),
        "METADATA": (wire.METADATA, 1, wire.metadata_body([target.topic, target.topic])),
    }


@rule("body.truncated", "1", "a body cut anywhere is answered CORRUPT_REQUEST and appends nothing")
def truncated(target: Target) -> None:
    for what, (api_key, version, body) in valid_bodies(target).items():
        with target.connect() as connection:
            end = connection.partition(target.topic).high_watermark
            for length in range(len(body)):
                # What is left of a FETCH v2 without its last eight bytes is a whole FETCH v1, but not a v2.
                sent = connection.send_request(api_key, version, body[:length])
                connection.expect(sent, Code.CORRUPT_REQUEST, f"{what} cut to {length} of {len(body)} bytes")
            connection.expect_open(what)
            require(connection.partition(target.topic).high_watermark == end, f"a truncated {what} appended records")


@rule("body.trailing", "1", "bytes behind a complete body are answered CORRUPT_REQUEST, and nothing is appended")
def trailing(target: Target) -> None:
    for what, (api_key, version, body) in valid_bodies(target).items():
        with target.connect() as connection:
            end = connection.partition(target.topic).high_watermark
            for extra in (b"\x00", bytes(4), b"\x00\x00\x00\x01x", bytes(16)):
                sent = connection.send_request(api_key, version, body + extra)
                connection.expect(sent, Code.CORRUPT_REQUEST, f"{what} with {len(extra)} bytes behind it")
            connection.expect_open(what)
            require(connection.partition(target.topic).high_watermark == end, f"{what} with trailing bytes appended")


@rule("order.body-before-topic", "1", "a corrupt body is reported before an unknown topic or partition")
def body_before_topic(target: Target) -> None:
    nobody = "no.such.topic"
    cases = {
        "PRODUCE with an empty record": (wire.PRODUCE, 1, wire.produce_body(nobody, 0, wire.ACK_WRITTEN, [b""])),
        "PRODUCE with bytes behind it": (wire.PRODUCE, 1, wire.produce_body(nobody, 0, wire.ACK_WRITTEN, [b"x"]) + b"x"),
        "FETCH of offset -1": (wire.FETCH, 1, wire.fetch_body(nobody, 0, -1, 100)),
        "FETCH v2 with minBytes above maxBytes": (wire.FETCH, 2, wire.fetch_body(nobody, 9, 0, 100, 0, 101)),
        "METADATA with bytes behind it": (wire.METADATA, 1, wire.metadata_body([nobody]) + b"x"),
    }
    for what, (api_key, version, body) in cases.items():
        refused(target, api_key, version, body, Code.CORRUPT_REQUEST, f"{what}, topic unknown")


@rule("order.topic-before-state", "1", "an unknown topic or partition is reported before record size and offset range")
def topic_before_state(target: Target) -> None:
    far = wire.INT64_MAX
    unknown = Code.UNKNOWN_TOPIC_OR_PARTITION
    refused(target, wire.FETCH, 1, wire.fetch_body("no.such.topic", 0, far, 100), unknown, "FETCH far out, topic unknown")
    refused(target, wire.FETCH, 1, wire.fetch_body(target.topic, 30000, far, 9), unknown, "FETCH far out, partition unknown")
    if target.segment_bytes is not None and target.segment_bytes < 8_000_000:
        large = wire.produce_body("no.such.topic", 0, wire.ACK_WRITTEN, [bytes(target.segment_bytes)])
        refused(target, wire.PRODUCE, 1, large, unknown, "PRODUCE of a record that is too large, topic unknown")
