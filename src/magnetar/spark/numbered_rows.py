"""Which rows of a write go where, and under which sequence ids: the same each time. Pure.

A write that is tried again has the same rows in the same order. So each row has the same place,
and the broker knows by the sequence ids which of them it has: all up to the highest that it tells.

That is so where a batch was sent when the one before was stored. Where they followed each other,
one may have been refused, and others behind it stored. So ids say which it was:

    version (31 bits) | sent surely (1 bit) | place of the row (31 bits)
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.producers.batching import PackedBatch
from magnetar.spark.rows import Picked, Rows, count_of

ROWS_BITS: Final = 32
SURELY: Final = 1 << 31
"""A task writes fewer rows into one partition of a topic."""
SAME_PARTITION_MESSAGES: Final = 1000
"""So many rows without keys go to one partition, in a batch of their own; the next to another."""


def producer_name(app_id: str, task_partition: int) -> str:
    """The unique name of a producer: a query's id, or a write's, and one of its tasks."""
    return f"spark:{app_id}:{task_partition}"


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """The rows of one Arrow batch that go to one partition; the first ``done`` are stored."""

    rows: Rows
    picked: Picked
    first_id: int
    done: int
    surely: bool  # Each batch is to be sent when the one before is stored.
    done_unsure: bool  # Those done were sent otherwise: a batch among them may have been refused.

    def batches(
        self, stored: int = 0, messages_max: int | None = None
    ) -> Iterator[PackedBatch | OutgoingMessage]:
        """The rows that are not stored yet, nor among the ``stored`` ones behind what was done."""
        return self.rows.batches(self.picked, self.first_id, self.done + stored, messages_max)

    def batches_done(self) -> Iterator[PackedBatch | OutgoingMessage]:
        """The batches in which the rows that are done were sent."""
        sent = 0
        for batch in self.rows.batches(self.picked, self.first_id, 0):
            if sent >= self.done:
                return
            sent += batch.message_count if isinstance(batch, PackedBatch) else 1
            yield batch


class NumberedRows:
    """What one task writes to one topic, row by row."""

    def __init__(
        self, version: int, task_partition: int, partitions: int, *, surely: bool = False
    ) -> None:
        """``partitions`` of the topic, 1 where it is not partitioned."""
        self._version = version
        self._task_partition = task_partition
        self._surely = surely
        self._rows = 0
        self._placed = [0] * partitions

    def place(
        self, rows: Rows, picked: Picked, stored: Callable[[int], int]
    ) -> Iterator[tuple[int, PartitionRows]]:
        """What is not stored yet, by partition, or may not be.

        ``stored`` says the highest id that one has.
        """
        place = self._rows + self._task_partition * SAME_PARTITION_MESSAGES
        shares = rows.share(picked, len(self._placed), place, SAME_PARTITION_MESSAGES)
        self._rows += count_of(picked)
        for partition, share in enumerate(shares):
            count = count_of(share)
            if not count:
                continue
            first = self._placed[partition]
            self._placed[partition] += count
            highest = stored(partition)
            of_version, was_surely = highest >> ROWS_BITS, bool(highest & SURELY)
            done, began_surely = 0, False
            if of_version > self._version:
                done = count
            elif of_version == self._version:
                done = min(max(highest % SURELY + 1 - first, 0), count)
                began_surely = was_surely
            surely = self._surely or began_surely  # As it began: numbers do not go back.
            unsure = self._surely and bool(done) and of_version == self._version and not was_surely
            if done < count or unsure:
                first_id = (self._version << ROWS_BITS) + surely * SURELY + first
                yield partition, PartitionRows(rows, share, first_id, done, surely, unsure)
