"""Section 1: what a client makes of the bytes that come, asked of each of its roles. Most of it a healthy broker never shows."""

from __future__ import annotations

import struct
from typing import Callable

import booblik_wire as wire
from booblik_wire import Code
from client_command import Answer
from client_rules.registry import CALLS, Call, ClientTarget, rule
from scripted_broker import NOTHING, Reply, Script

RECORD = wire.encode_record(b"hello")


def answer_to(target: ClientTarget, call: Call, mangle: Callable[[bytes], Reply], timeout_ms: int | None = None) -> Answer:
    script = Script(end=1, records=RECORD, mangled=call.api_key, mangle=mangle)
    with target.scripted(script) as scripted:
        return scripted.run(*call.arguments, timeout_ms=timeout_ms)


def never_believed(target: ClientTarget, manglings: dict[str, Callable[[bytes], Reply]]) -> None:
    """The first mangling is tried with each role, the others with one role in turn."""
    calls = target.calls()
    for index, (what, mangle) in enumerate(manglings.items()):
        for call in calls if index == 0 else [calls[index % len(calls)]]:
            answer = answer_to(target, call, mangle)
            try:
                answer.not_carried_out()
            except Exception as error:
                raise type(error)(f"{what}: {error}") from error


def whole(answer: bytes) -> Reply:
    return Reply([answer])


def reframed(body: bytes) -> Reply:
    return Reply([wire.frame(body)])


@rule("answer.split", "1", "how the bytes of an answer are cut on their way makes no difference", alone=False)
def split(target: ClientTarget) -> None:
    for call in target.calls():
        answer = answer_to(target, call, lambda frame: Reply([frame[i : i + 1] for i in range(len(frame))]))
        answer.carried_out()
        answer.require(answer.lines == answer_to(target, call, whole).lines, "the answer in one piece was reported otherwise")


@rule("answer.correlation-id", "1", "an answer with another correlation id is not believed", alone=False)
def correlation_id(target: ClientTarget) -> None:
    def changed(change: int) -> Callable[[bytes], Reply]:
        def mangle(frame: bytes) -> Reply:
            (number,) = struct.unpack_from(">i", frame, 4)
            return Reply([frame[:4] + struct.pack(">i", number ^ change) + frame[8:]])

        return mangle

    never_believed(target, {f"correlation id with bits {bits:x} changed": changed(bits) for bits in (1, 0x40000000)})


@rule("answer.error-codes", "1", "each error code is reported by its name, with exit 0", alone=False)
def error_codes(target: ClientTarget) -> None:
    calls = target.calls()
    for code in Code:
        if code is not Code.NONE:
            call = calls[code % len(calls)]
            with target.scripted(Script(mangled=call.api_key, error=code)) as scripted:
                scripted.run(*call.arguments).refused(code.name)


@rule("answer.unknown-code", "1", "an error code that the protocol does not have is neither success nor a refusal", alone=False)
def unknown_code(target: ClientTarget) -> None:
    def coded(code: int) -> Callable[[bytes], Reply]:
        return lambda frame: reframed(frame[4:8] + struct.pack(">h", code))

    never_believed(target, {f"error code {code}": coded(code) for code in (6, -1, 256)})


@rule("answer.frame-length", "1", "a frame length below 6 or above 8 MiB is not believed, and not waited for", alone=False)
def frame_length(target: ClientTarget) -> None:
    def long(length: int) -> Callable[[bytes], Reply]:
        return lambda frame: Reply([struct.pack(">i", length) + frame[4:]])

    lengths = (wire.FRAME_LENGTH_MAX + 1, wire.INT32_MAX, -1, wire.INT32_MIN, 0, 5)
    never_believed(target, {f"frame length {length}": long(length) for length in lengths})


@rule("answer.cut", "1", "an answer that ends early is no answer", alone=False)
def cut(target: ClientTarget) -> None:
    def cut_at(count: int) -> Callable[[bytes], Reply]:
        return lambda frame: Reply([frame[:count]], then_end=True)

    never_believed(target, {f"the end of the connection behind {count} bytes": cut_at(count) for count in (21, 0, 3, 4, 9, 10)})


@rule("answer.body-longer", "1", "bytes behind the last field are not believed", alone=False)
def body_longer(target: ClientTarget) -> None:
    never_believed(target, {"a byte too many": lambda frame: reframed(frame[4:] + b"\0")})


@rule("answer.body-shorter", "1", "a body that ends inside its fields is not believed", alone=False)
def body_shorter(target: ClientTarget) -> None:
    never_believed(
        target, {"a byte too few": lambda frame: reframed(frame[4:-1]), "no body": lambda frame: reframed(frame[4:10])}
    )


@rule("answer.payload-bytes", "3", "a FETCH whose payloadBytes is not what its frame holds is not believed", alone=False)
def payload_bytes(target: ClientTarget) -> None:
    target.need("consumer")

    def sized(size: int) -> Callable[[bytes], Reply]:
        return lambda frame: Reply([frame[:18] + struct.pack(">i", size) + frame[22:]])

    for size in (len(RECORD) + 1, len(RECORD) - 1, -1, wire.INT32_MAX):
        answer_to(target, CALLS["consumer"], sized(size)).not_carried_out()


@rule("answer.none", "1", "a client does not wait for ever: BOOBLIK_TIMEOUT_MS, or 10 s without it", alone=False)
def none(target: ClientTarget) -> None:
    for call in target.calls():
        answer_to(target, call, lambda frame: Reply(NOTHING), timeout_ms=300).not_carried_out()
