"""A disk that gets full under load, and has room again: FETCH is answered all the time, PRODUCE as soon as there is room."""

from __future__ import annotations

import time

import journal
import records
from booblik_socket import Closed, Connection, Misbehaviour
from check import TOPIC, Violation
from lives import Lives
from places import SmallDisk

RESUME_SECONDS = 10.0


def expect_fetch(port: int, when: str) -> None:
    try:
        with Connection("127.0.0.1", port) as connection:
            told = connection.partition(TOPIC)
            at = max(told.log_start_offset, told.high_watermark - 1)
            fetched = connection.fetch(TOPIC, at)
            if fetched.high_watermark < told.high_watermark:
                raise Violation(f"{when}: the high watermark went from {told.high_watermark} to {fetched.high_watermark}")
    except (Misbehaviour, OSError) as error:
        if "OFFSET_OUT_OF_RANGE" not in str(error):  # retention may be faster
            raise Violation(f"{when}: FETCH was not answered: {error}") from error


class Probe:
    """A producer that asks for one FORCED record until it is acknowledged."""

    def __init__(self, port: int, journal_path: str, number: int, first_sequence: int) -> None:
        self.port = port
        self.number = number
        self.sequence = first_sequence
        self.journal_path = journal_path

    def expect_produce(self, seconds: float) -> None:
        kept = journal.Writer(self.journal_path)
        deadline = time.monotonic() + seconds
        problem = "it was never tried"
        try:
            while time.monotonic() < deadline:
                first = records.identity(self.number, self.sequence)
                self.sequence += 1
                try:
                    with Connection("127.0.0.1", self.port) as connection:
                        kept.connected()
                        batch = kept.sending(0, 2, first, 1)
                        kept.flush()
                        kept.answered(batch, connection.produce(TOPIC, [records.payload(first)], 0, 2).base_offset)
                        return
                except (Closed, OSError) as error:
                    problem = str(error)
                    time.sleep(0.05)
                except Misbehaviour as error:
                    raise Violation(f"PRODUCE with room on the disk: {error}") from error
        finally:
            kept.close()
        raise Violation(f"PRODUCE did not work within {seconds:g} s of the disk having room again: {problem}")


def full_disk(lives: Lives, place: SmallDisk, probe: Probe) -> None:
    """The broker runs under load before, and has ended behind it."""
    time.sleep(lives.draw.uniform(0.1, 0.5))
    place.fill()
    for _ in range(3):
        expect_fetch(lives.port, "with a full disk")
        time.sleep(lives.draw.uniform(0.05, 0.3))
        place.fill()  # retention may have made room
    if lives.draw.random() < 0.5:
        lives.draw.choice((lives.kill, lives.terminate))()
        lives.start(place)
        expect_fetch(lives.port, "after a start on a full disk")
    place.free()
    probe.expect_produce(RESUME_SECONDS)
    lives.draw.choice((lives.kill, lives.terminate))()
