"""Which rows of a write go where, and under which sequence ids: the same each time. Pure.

A write that is tried again has the same rows in the same order. So each row has the same place,
and the broker knows by the sequence ids which of them it has: all up to the highest that it tells.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.producers.batching import PackedBatch
from magnetar.spark.rows import Picked, Rows, count_of

ROWS_BITS: Final = 32
"""A task writes fewer than 2**32 rows into one partition of a topic."""
SAME_PARTITION_MESSAGES: Final = 1000
"""So many rows without keys go to one partition, in a batch of their own; the next to another."""


def producer_name(app_id: str, task_partition: int) -> str:
    """Nobody else has it: a query's id, or a write's, and one of its tasks."""
    return f"spark:{app_id}:{task_partition}"


@dataclass(frozen=True, slots=True)
class Share:
    """The rows of one Arrow batch that go to one partition; the first ``done`` are stored."""

    rows: Rows
    picked: Picked
    first_id: int
    done: int

    def batches(
        self, stored: int = 0, messages_max: int | None = None
    ) -> Iterator[PackedBatch | OutgoingMessage]:
        """What is not stored yet, nor among the ``stored`` rows behind what was done."""
        return self.rows.batches(self.picked, self.first_id, self.done + stored, messages_max)


class NumberedRows:
    """What one task writes to one topic, row by row."""

    def __init__(self, version: int, task_partition: int, partitions: int) -> None:
        """``partitions`` of the topic, 1 where it is not partitioned."""
        self._task_partition = task_partition
        self._rows = 0
        self._next_ids = [version << ROWS_BITS] * partitions

    def place(
        self, rows: Rows, picked: Picked, stored: Callable[[int], int]
    ) -> Iterator[tuple[int, Share]]:
        """What is not stored yet, by partition. ``stored`` says the highest id that one has."""
        place = self._rows + self._task_partition * SAME_PARTITION_MESSAGES
        shares = rows.share(picked, len(self._next_ids), place, SAME_PARTITION_MESSAGES)
        self._rows += count_of(picked)
        for partition, share in enumerate(shares):
            count = count_of(share)
            if not count:
                continue
            first_id = self._next_ids[partition]
            self._next_ids[partition] += count
            done = max(stored(partition) + 1 - first_id, 0)
            if done < count:
                yield partition, Share(rows, share, first_id, done)
