"""The tests' own codec, against values that are known from elsewhere."""

from __future__ import annotations

import unittest

import harness  # first: it makes conformance importable
import booblik_wire as wire
from booblik_wire import Code, WireError


class Algorithms(unittest.TestCase):
    def test_crc32c_has_the_published_check_values(self) -> None:
        # The check value, and the iSCSI examples of RFC 3720, B.4.
        self.assertEqual(wire.crc32c(b"123456789"), 0xE3069283)
        self.assertEqual(wire.crc32c(b""), 0)
        self.assertEqual(wire.crc32c(bytes(32)), 0x8A9136AA)
        self.assertEqual(wire.crc32c(b"\xff" * 32), 0x62A8AB43)
        self.assertEqual(wire.crc32c(bytes(range(32))), 0x46DD794E)

    def test_fnv1a_has_the_published_values(self) -> None:
        self.assertEqual(wire.fnv1a(b""), 0x811C9DC5)
        self.assertEqual(wire.fnv1a(b"a"), 0xE40C292C)
        self.assertEqual(wire.fnv1a(b"foobar"), 0xBF9CF968)
        self.assertEqual(wire.partition_for_key(b"foobar", 16), 0xBF9CF968 % 16)

    def test_the_golden_vectors_hold(self) -> None:
        for name, key, digest, *partitions in self.vectors("partitioner.tsv"):
            with self.subTest(name):
                self.assertEqual(wire.fnv1a(bytes.fromhex(key)), int(digest, 16))
                found = [wire.partition_for_key(bytes.fromhex(key), count) for count in (1, 2, 3, 4, 16, 64)]
                self.assertEqual(found, list(map(int, partitions)))
        for name, data, checksum in self.vectors("crc32c.tsv"):
            with self.subTest(name):
                self.assertEqual(wire.crc32c(bytes.fromhex(data)), int(checksum, 16))

    def vectors(self, file: str) -> list[list[str]]:
        lines = (harness.ROOT / "conformance" / "vectors" / file).read_text().splitlines()
        rows = [line.split("\t") for line in lines if line and not line.startswith("#")][1:]
        self.assertGreater(len(rows), 5)
        return rows


class Frames(unittest.TestCase):
    def test_requests_are_laid_out_as_the_protocol_says(self) -> None:
        body = wire.produce_body("ab", 3, 2, [b"xyz"])
        self.assertEqual(body.hex(), "0002" "6162" "00000003" "02" "00000001" "00000003" "78797a")
        self.assertEqual(wire.request(1, 1, 5, b"\x09").hex(), "00000009" "0001" "0001" "00000005" "09")
        self.assertEqual(
            wire.fetch_body("ab", 3, 7, 9, 11, 5).hex(),
            "0002" "6162" "00000003" "0000000000000007" "00000009" "0000000b" "00000005",
        )
        self.assertEqual(wire.metadata_body(["ab"]).hex(), "00000001" "0002" "6162")

    def test_the_worked_exchange_of_the_protocol_page_holds(self) -> None:
        page = (harness.ROOT / "docs" / "protocol.md").read_text()
        example = page.split("## A worked exchange", 1)[1].split("\n## ", 1)[0]
        blocks = [block.split("```")[0] for block in example.split("```\n")[1::2]]
        frames = [bytes.fromhex("".join(line[:27] for line in block.splitlines())) for block in blocks]
        self.assertEqual(frames[0], wire.request(wire.PRODUCE, 1, 7, wire.produce_body("default", 0, 1, [b"hi"])))
        answer = wire.decode_response(frames[1][4:])
        self.assertEqual(len(frames[1]), 4 + int.from_bytes(frames[1][:4], "big"))
        self.assertEqual((answer.correlation_id, wire.decode_produced(answer.body)), (7, wire.Produced(0, 1)))

    def test_a_response_is_read_strictly(self) -> None:
        read = wire.decode_response(bytes.fromhex("00000005" "0000" "ff"))
        self.assertEqual(read, wire.Response(5, Code.NONE, b"\xff"))
        for frame in ("00000005", "00000005" "0006", "00000005" "ffff", "00000005" "0005" "00"):
            with self.subTest(frame), self.assertRaises(WireError):
                wire.decode_response(bytes.fromhex(frame))

    def test_bodies_are_read_to_their_last_byte_and_no_further(self) -> None:
        self.assertEqual(wire.decode_produced(bytes(15) + b"\x02"), wire.Produced(0, 2))
        fetched = bytes(7) + b"\x05" + bytes(3) + b"\x02" + b"xy"
        self.assertEqual(wire.decode_fetched(fetched), wire.Fetched(5, b"xy"))
        for decode, body in ((wire.decode_produced, bytes(16)), (wire.decode_fetched, fetched), (wire.decode_metadata, bytes(4))):
            decode(body)
            for wrong in (body[:-1], body + b"x"):
                with self.subTest(decode=decode, wrong=wrong), self.assertRaises(WireError):
                    decode(wrong)


class Records(unittest.TestCase):
    def test_a_cut_tail_is_kept_apart(self) -> None:
        data = wire.encode_records([b"one", b"three"])
        for length in range(len(data) + 1):
            split = wire.split_records(data[:length])
            whole = [b"one", b"three"][: (length >= 11) + (length >= 24)]
            self.assertEqual(split.payloads, whole)
            self.assertEqual(wire.encode_records(whole) + split.tail, data[:length])

    def test_a_wrong_checksum_and_an_empty_record_are_errors(self) -> None:
        data = bytearray(wire.encode_records([b"one"]))
        data[-1] ^= 1
        with self.assertRaises(WireError):
            wire.split_records(bytes(data))
        with self.assertRaises(WireError):
            wire.split_records(bytes(8))


if __name__ == "__main__":
    unittest.main()
