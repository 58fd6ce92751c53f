"""A client of booblik: producers, consumers and pipelined connections, for threads here and for asyncio in booblik.aio."""

from booblik.address import Address
from booblik.blocking import Connection, Consumer, Producer
from booblik.checksum import crc32c
from booblik.codes import Ack, ErrorCode
from booblik.core_connection import ConnectionOptions
from booblik.core_consumer import ConsumerOptions, Start
from booblik.core_producer import Counts, Delivered, FailedBatch, ProducerOptions
from booblik.errors import (
    BadAnswer,
    BooblikError,
    Closed,
    ConnectionLost,
    CorruptRecord,
    DeliveryFailed,
    LogReset,
    NotSent,
    OffsetOutOfRange,
    OutcomeUnknown,
    PositionsDamaged,
    RecordExceedsMaxBytes,
    Refused,
    TimedOut,
    Unreachable,
)
from booblik.partitioner import fnv1a, partition_for_key
from booblik.positions import FilePositionStore, PositionStore
from booblik.records import Batch, Record
from booblik.wire import Fetch, Fetched, Metadata, PartitionInfo, Produce, Produced, TopicInfo

__all__ = [
    "Ack",
    "Address",
    "BadAnswer",
    "Batch",
    "BooblikError",
    "Closed",
    "Connection",
    "ConnectionLost",
    "ConnectionOptions",
    "Consumer",
    "ConsumerOptions",
    "CorruptRecord",
    "Counts",
    "Delivered",
    "DeliveryFailed",
    "ErrorCode",
    "FailedBatch",
    "Fetch",
    "Fetched",
    "FilePositionStore",
    "LogReset",
    "Metadata",
    "NotSent",
    "OffsetOutOfRange",
    "OutcomeUnknown",
    "PartitionInfo",
    "PositionStore",
    "PositionsDamaged",
    "Produce",
    "Produced",
    "Producer",
    "ProducerOptions",
    "Record",
    "RecordExceedsMaxBytes",
    "Refused",
    "Start",
    "TimedOut",
    "TopicInfo",
    "Unreachable",
    "crc32c",
    "fnv1a",
    "partition_for_key",
]
