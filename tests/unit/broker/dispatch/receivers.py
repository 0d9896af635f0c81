"""Consumers for strategies: plain counters, and runs of entries to assign to them."""

from dataclasses import dataclass

from magnetar.message.entry import join
from magnetar.message.entry_traits import traits_of
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.storage.managed_ledger.run import EntryRun


@dataclass(eq=False)
class Receiver:
    """A consumer; ``unacked_max`` 0 is no limit."""

    name: str
    permits: int = 100
    priority: int = 0
    writable: bool = True
    unacked_max: int = 0
    unacked: int = 0
    hash_ranges: tuple | None = None

    @property
    def blocked(self):
        return bool(self.unacked_max) and self.unacked >= self.unacked_max

    @property
    def capacity(self):
        return 0 if self.blocked or not self.writable else self.permits

    def took(self, messages):
        self.unacked += messages

    def released(self, messages):
        self.unacked -= messages


def entry(*, batch=None, **fields):
    found = pb.MessageMetadata(producer_name="p", sequence_id=0, publish_time=1, **fields)
    if batch is not None:
        found.num_messages_in_batch = batch
    return join(found.SerializeToString(), b"payload")


def keyed(*keys):
    return [entry(partition_key=key) for key in keys]


def chunk(uuid, index, count):
    return entry(uuid=uuid, chunk_id=index, num_chunks_from_msg=count)


class World:
    """A strategy, and what the dispatch loop does about its choices."""

    def __init__(self, strategy):
        self.strategy = strategy
        self.now = 100.0
        self._next = 0

    def offer(self, *entries):
        """New entries. Who got which, by index; the others wait."""
        run = EntryRun(1, self._next, list(entries), [0] * len(entries))
        self._next += len(entries)
        return self._assign(run, range(len(run)), again=False)

    def due(self, run_of, count_max=100):
        """Assign what is due: ``run_of`` has all entries so far."""
        due = self.strategy.due(count_max)
        ids = [position.entry_id for position in due]
        self.strategy.table.dequeue(1, ids)
        return self.offer_again(run_of, ids)

    def offer_again(self, run_of, ids):
        """Assign entries that were due, and wait no longer."""
        return self._assign(EntryRun(1, 0, list(run_of), [0] * len(run_of)), ids, again=True)

    def _assign(self, run, indexes, *, again):
        traits, table = traits_of(run.data), self.strategy.table
        picks, left = self.strategy.assign(run, indexes, traits, again=again)
        for consumer, picked in picks:
            messages = [traits.message_counts[index] for index in picked]
            consumer.permits -= sum(messages)
            if table is not None:
                ids = [run.first_entry_id + index for index in picked]
                table.hand_over(consumer, 1, ids, messages, self.now)
        if table is not None and left:
            table.wait(1, [run.first_entry_id + index for index in left])
        return {consumer.name: list(picked) for consumer, picked in picks}

    def acknowledge(self, consumer, *entry_ids):
        released = self.strategy.table.release(consumer, 1, entry_ids)
        freed = self.strategy.released(consumer, 1, released)
        self.strategy.table.forget(1, released)
        return freed
