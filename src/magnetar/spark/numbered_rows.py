"""Which rows of a write go where, and under which sequence ids: the same each time. Pure.

A write that is tried again has the same rows in the same order. So each row has the same place,
and the broker knows by the sequence ids which of them it has: all up to the highest that it tells.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.producers.encoding import key_text
from magnetar.client.producers.routing import HashingScheme, key_hash

ROWS_BITS: Final = 32
"""A task writes fewer than 2**32 rows into one partition of a topic."""
RUN_BYTES_MAX: Final = 16 * 1024 * 1024
RUN_MESSAGES_MAX: Final = 10_000
"""What is under way to a topic at a time: in one piece, so that its batches have the same ends."""
SAME_PARTITION_MESSAGES: Final = 1000
"""So many rows without keys go to one partition, in a batch of their own; the next to another."""


def producer_name(app_id: str, task_partition: int) -> str:
    """Nobody else has it: a query's id, or a write's, and one of its tasks."""
    return f"spark:{app_id}:{task_partition}"


Run = tuple[int, list[OutgoingMessage]]
"""A partition of the topic, and messages that follow each other there."""


class NumberedRows:
    """What one task writes to one topic, row by row."""

    def __init__(self, version: int, task_partition: int, partitions: int) -> None:
        """``partitions`` of the topic, 1 where it is not partitioned."""
        self._task_partition = task_partition
        self._rows = 0
        self._next_ids = [version << ROWS_BITS] * partitions

    def place(
        self, messages: Iterable[OutgoingMessage], stored: Callable[[int], int]
    ) -> Iterator[Run]:
        """What is not stored yet. ``stored`` says the highest id that a partition has.

        Whatever is stored, runs end at the same messages. The first message of each has its
        sequence id, from which the producer counts.
        """
        placed: dict[int, list[OutgoingMessage]] = {}
        for message in messages:
            placed.setdefault(self._partition(message), []).append(message)
            self._rows += 1
        for partition, there in placed.items():
            last = stored(partition)
            for run in _runs(there):
                first_id = self._next_ids[partition]
                self._next_ids[partition] += len(run)
                done = max(last + 1 - first_id, 0)
                if done < len(run):
                    run[done].sequence_id = first_id + done
                    yield partition, run[done:]

    def _partition(self, message: OutgoingMessage) -> int:
        count = len(self._next_ids)
        key = key_text(message.key)
        if key:
            return key_hash(key, HashingScheme.JAVA_STRING) % count
        return (self._rows // SAME_PARTITION_MESSAGES + self._task_partition) % count


def _runs(messages: list[OutgoingMessage]) -> Iterator[list[OutgoingMessage]]:
    start = size = 0
    for index, message in enumerate(messages, 1):
        size += len(message.value) + message.more_size
        if size >= RUN_BYTES_MAX or index - start == RUN_MESSAGES_MAX or index == len(messages):
            yield messages[start:index]
            start, size = index, 0
