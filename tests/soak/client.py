#!/usr/bin/env python3
"""One client of the soak, a process of its own: writes or reads until SIGTERM, whatever becomes of the broker, and keeps a journal."""

from __future__ import annotations

import argparse
import collections
import random
import select
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

import booblik_wire as wire  # noqa: E402
import journal  # noqa: E402
import records  # noqa: E402
from booblik_socket import Closed, Connection, Misbehaviour  # noqa: E402

TOPIC = "soak"
DEPTH = 32  # batches on their way
ANSWER_SECONDS = 40.0


class Client:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.random = random.Random(f"{options.seed}/{options.number}")
        self.journal = journal.Writer(options.journal)
        self.stopping = False
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the soak decides

    def _stop(self, *_: object) -> None:
        self.stopping = True

    def run(self) -> None:
        while not self.stopping:
            try:
                with Connection("127.0.0.1", self.options.port, ANSWER_SECONDS) as connection:
                    self.journal.connected()
                    self.use(connection)
            except (Closed, OSError):
                time.sleep(0.02)
            except Misbehaviour as error:
                self.journal.violation(str(error))
                break
        self.journal.close()

    def use(self, connection: Connection) -> None:
        raise NotImplementedError

    def has_come(self, connection: Connection, seconds: float) -> bool:
        return bool(select.select([connection], [], [], seconds)[0])


class Producer(Client):
    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.next_sequence = options.first_sequence

    def use(self, connection: Connection) -> None:
        waiting: collections.deque[tuple[int, int]] = collections.deque()  # correlation id, batch
        next_burst = time.monotonic()
        oldest = next_burst
        while not self.stopping or waiting:
            now = time.monotonic()
            if not self.stopping and now >= next_burst and len(waiting) < DEPTH:
                burst = self.random.randint(1, DEPTH - len(waiting))
                next_burst = max(next_burst, now - 1) + burst / self.options.batches_per_second
                if not waiting:
                    oldest = now
                connection.send(b"".join(self.batch(connection, waiting) for _ in range(burst)))
            if not waiting:
                time.sleep(max(0.0, min(0.1, next_burst - now)))
                continue
            pause = 0.1 if self.stopping or len(waiting) >= DEPTH else max(0.0, min(0.1, next_burst - now))
            if self.has_come(connection, pause):
                self.take_answer(connection, waiting)
                oldest = time.monotonic()
            elif time.monotonic() - oldest > ANSWER_SECONDS:
                raise Misbehaviour(f"no answer to a PRODUCE within {ANSWER_SECONDS:g} s")
        self.journal.flush()

    def batch(self, connection: Connection, waiting: collections.deque[tuple[int, int]]) -> bytes:
        """The request, after the journal has it."""
        first = records.identity(self.options.number, self.next_sequence)
        count = self.random.choice((1, 1, 2, 5, 20))
        self.next_sequence += count
        partition = self.random.randrange(self.options.partitions)
        ack = self.random.choice(self.options.acks)
        number = self.journal.sending(partition, ack, first, count)
        self.journal.flush()
        payloads = [records.payload(first + index) for index in range(count)]
        correlation_id = connection.next_id()
        if ack != wire.ACK_NONE:
            waiting.append((correlation_id, number))
        return wire.request(wire.PRODUCE, 1, correlation_id, wire.produce_body(TOPIC, partition, ack, payloads))

    def take_answer(self, connection: Connection, waiting: collections.deque[tuple[int, int]]) -> None:
        """The next one, and all that have come with it."""
        while waiting:
            correlation_id, number = waiting[0]
            produced = connection.expect_produced(correlation_id)
            self.journal.answered(number, produced.base_offset)
            waiting.popleft()
            if not connection.holds_answer():
                return


class Reader(Client):
    """Follows each partition from somewhere in it, and says what it saw."""

    def use(self, connection: Connection) -> None:
        partitions = connection.metadata([TOPIC])[0].partitions
        ends = [partition.high_watermark for partition in partitions]
        at = [self.random.randint(partition.log_start_offset, partition.high_watermark) for partition in partitions]
        while not self.stopping:
            number = self.random.randrange(self.options.partitions)
            correlation_id = connection.send_fetch(TOPIC, at[number], 1 << self.random.randint(6, 18), number, 100, 1)
            answer = connection.receive("FETCH")
            if answer.correlation_id != correlation_id:
                raise Misbehaviour(f"FETCH {correlation_id} was answered by {answer.correlation_id}")
            if answer.code is wire.Code.OFFSET_OUT_OF_RANGE:
                at[number] = self.ask_again(connection, number, at[number])
                continue
            if answer.code is not wire.Code.NONE:
                raise Misbehaviour(f"FETCH: {answer.code.name}")
            fetched = wire.decode_fetched(answer.body)
            if fetched.high_watermark < ends[number]:
                raise Misbehaviour(f"the high watermark of {number} went from {ends[number]} to {fetched.high_watermark}")
            ends[number] = fetched.high_watermark
            at[number] += self.take(number, at[number], fetched.payload)
            time.sleep(self.options.pause_seconds)

    def take(self, partition: int, offset: int, payload: bytes) -> int:
        found = []
        for data in wire.split_records(payload, verify=False).payloads:
            identity = records.identity_in(data)
            if identity is None or records.payload(identity) != data:
                raise Misbehaviour(f"{partition}, offset {offset + len(found)}: read what nobody sent: {data[:60]!r}")
            found.append(identity)
        if found:
            self.journal.read(partition, offset, found)
            self.journal.flush()
        return len(found)  # none: the record is larger than what was asked for, and the next request asks for more or less

    def ask_again(self, connection: Connection, number: int, at: int) -> int:
        partition = connection.metadata([TOPIC])[0].partitions[number]
        if partition.log_start_offset <= at:
            raise Misbehaviour(f"{number}: {at} is out of range, but the log begins at {partition.log_start_offset}")
        return partition.log_start_offset


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", choices=("produce", "read"))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--number", type=int, required=True, help="of this client; its records carry it")
    parser.add_argument("--seed", required=True)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--first-sequence", type=int, default=0)
    parser.add_argument("--batches-per-second", type=float, default=200)
    parser.add_argument("--pause-seconds", type=float, default=0.005)
    parser.add_argument("--acks", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    (Producer if options.role == "produce" else Reader)(options).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
