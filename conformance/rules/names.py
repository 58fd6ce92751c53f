"""Section 1: topic names, the same rules in every request."""

from __future__ import annotations

from typing import Callable

import booblik_wire as wire
from booblik_wire import Code
from rules.registry import Target, refused, rule

BODIES: dict[str, tuple[int, int, Callable[[bytes], bytes]]] = {
    "PRODUCE": (wire.PRODUCE, 1, lambda name: wire.produce_body(name, 0, wire.ACK_WRITTEN, [b"x"])),
    "FETCH v1": (wire.FETCH, 1, lambda name: wire.fetch_body(name, 0, 0, 1)),
    "FETCH v2": (wire.FETCH, 2, lambda name: wire.fetch_body(name, 0, 0, 1, 0, 0)),
    "METADATA": (wire.METADATA, 1, lambda name: wire.metadata_body([name])),
}


def all_answer(target: Target, names: dict[str, bytes], code: Code) -> None:
    for what, (api_key, version, body) in BODIES.items():
        with target.connect() as connection:
            for case, name in names.items():
                connection.expect(connection.send_request(api_key, version, body(name)), code, f"{what}, topic name {case}")
            connection.expect_open(what)


@rule("name.empty", "1", "a topic name of 0 bytes is CORRUPT_REQUEST")
def empty(target: Target) -> None:
    all_answer(target, {"of 0 bytes": b""}, Code.CORRUPT_REQUEST)


@rule("name.too-long", "1", "a topic name above 249 bytes is CORRUPT_REQUEST")
def too_long(target: Target) -> None:
    names = {"of 250 bytes": b"n" * 250, "of 65535 bytes": b"n" * 65535, "of 125 two-byte letters": "ж".encode() * 125}
    all_answer(target, names, Code.CORRUPT_REQUEST)


@rule("name.bad-utf8", "1", "a topic name that is not UTF-8 is CORRUPT_REQUEST")
def bad_utf8(target: Target) -> None:
    names = {
        "with a lone continuation byte": b"a\x80b",
        "cut inside a letter": "ж".encode()[:1],
        "with an overlong letter": b"\xc1\xa1",
        "with a surrogate": b"\xed\xa0\x80",
        "above U+10FFFF": b"\xf4\x90\x80\x80",
        "with the byte FF": b"\xff",
    }
    all_answer(target, names, Code.CORRUPT_REQUEST)


@rule("name.bad-character", "1", "only letters, decimal digits, '.', '_' and '-' may be in a topic name")
def bad_character(target: Target) -> None:
    characters = {
        "space": " ",
        "slash": "/",
        "NUL": "\0",
        "line end": "\n",
        "colon": ":",
        "emoji": "😀",
        "combining acute (a mark, no letter)": "e\u0301",
        "superscript two (no decimal digit)": "²",
        "Roman numeral eight (a letter number)": "\u2167",
        "private use": "\ue000",
        "unassigned": "\u0378",
        "plus": "+",
    }
    names = {f"with {case}": f"a{text}b".encode() for case, text in characters.items()}
    names["with slash first"] = b"/a"
    names["with space last"] = b"a "
    all_answer(target, names, Code.CORRUPT_REQUEST)


@rule("name.allowed", "1", "a sound name that no topic has is UNKNOWN_TOPIC_OR_PARTITION")
def allowed(target: Target) -> None:
    texts = {
        "ASCII": "No-Such_topic.9",
        "Cyrillic": "нет-такого",
        "CJK": "没有主题",
        "Arabic-Indic digits": "no٣٤",
        "a letter outside the first plane": "no𐐀",
        "a modifier letter": "noʰ",
        "a title-case letter": "noǅ",
        "of 249 bytes": "n" * 249,
        "of only dots": "...",
    }
    names = {case: text.encode() for case, text in texts.items()}
    all_answer(target, names, Code.UNKNOWN_TOPIC_OR_PARTITION)
