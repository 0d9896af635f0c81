"""A topic with transactions against a naive model of it.

What is sent, acknowledged, committed, aborted, asked for again, sought, and loaded again, after a
crash or not, in any order: what a consumer gets, and in which order, is what the model says.
"""

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from support import loop
from unit.broker.topics.conftest import opened

from magnetar.broker.topics.features import topic_transactions, transaction_snapshots
from magnetar.broker.topics.subscriptions import pending_ack_handle
from magnetar.errors import TransactionConflict
from magnetar.model.position import EARLIEST, Position
from magnetar.model.subscriptions import SubscriptionType
from magnetar.model.txn_id import TxnId
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings
from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree

LEDGERS = ManagedLedgerSettings(entries_per_ledger_max=7, ledger_age_min_s=0)

slots = st.integers(0, 2)
indexes = st.lists(st.integers(0, 99), min_size=1, max_size=4)
steps = st.one_of(
    st.tuples(st.just("send"), st.none() | slots, st.integers(1, 4)),
    st.tuples(st.just("send"), slots, st.integers(1, 4)),
    st.tuples(st.just("acknowledge"), st.none() | slots, indexes),
    st.tuples(st.just("acknowledge"), slots, indexes),
    st.tuples(st.just("cumulative"), st.none() | slots, st.integers(0, 99)),
    st.tuples(st.just("end"), slots, st.booleans()),
    st.tuples(st.just("end"), slots, st.booleans()),
    st.tuples(st.just("redeliver")),
    st.tuples(st.just("come_back")),
    st.tuples(st.just("seek"), st.integers(0, 99)),
    st.tuples(st.just("reload"), st.booleans()),
)


class Model:
    """Everything that was sent, in order, by index; and what became of it."""

    def __init__(self):
        self.sent = []  # The transaction of each, or None.
        self.committed = set()
        self.aborted = set()
        self.acked = set()
        self.acked_for_good = set()  # By transactions that were committed: no crash undoes it.
        self.pending = {}  # By transaction: the indexes that it acknowledges,
        self.upto = None  # and the one that acknowledges all up to an index.

    def is_open(self, transaction):
        return transaction is not None and transaction not in self.committed | self.aborted

    @property
    def visible(self):
        """What readers may see: nothing from the first message of an open transaction on."""
        end = next(
            (index for index, whose in enumerate(self.sent) if self.is_open(whose)), len(self.sent)
        )
        return [index for index in range(end) if self.sent[index] not in self.aborted]

    def is_pending(self, index):
        if self.upto is not None and index <= self.upto[1]:
            return True
        return any(index in acks for acks in self.pending.values())

    @property
    def due(self):
        """What a consumer gets that comes now."""
        return [
            index
            for index in self.visible
            if index not in self.acked and not self.is_pending(index)
        ]


class Story:
    """The topic beside the model; a message is its index."""

    def __init__(self, kind):
        self.kind = kind
        self.model = Model()
        self.positions = []
        self.slots = [None] * 3
        self.number = 0
        self.tree, self.stores = MemoryTree(), MemoryLedgerStore()
        self.benches = []
        self.seen = 0  # So much of what the consumer was sent has been checked.

    async def begin(self):
        self.bench = await opened(
            metadata=MemoryMetadataStore(self.tree),
            ledgers=self.stores,
            ledger_settings=LEDGERS,
            failover_delay_ms=0,
        )
        self.benches.append(self.bench)
        self.topic = self.bench.topic
        await self.topic.recover()
        if "s" not in self.topic.subscriptions:
            await self.topic.create_subscription("s", EARLIEST)
        await self.attach()

    async def attach(self):
        self.client, self.subscription, self.consumer = await self.bench.consumer(
            self.kind, permits=100_000
        )
        self.seen = 0
        await self.expect(self.model.due)

    async def expect(self, expected, *, ordered=True):
        """The consumer gets these now, and nothing else."""
        await loop.until_idle()
        got = [int(text) for text in self.client.got()[self.seen :]]
        self.seen += len(got)
        assert (got if ordered else sorted(got)) == (expected if ordered else sorted(expected))

    def transaction(self, slot):
        if slot is None:
            return None
        if self.slots[slot] is None:
            self.slots[slot] = TxnId(0, self.number)
            self.number += 1
        return self.slots[slot]

    async def send(self, slot, count):
        transaction, before = self.transaction(slot), self.model.due
        first = len(self.positions)
        texts = [str(first + number) for number in range(count)]
        kind, _, _, ledger_id, entry_id = await self.bench.publish(*texts, transaction=transaction)
        assert kind == "receipts"
        self.positions += [Position(ledger_id, entry_id + number) for number in range(count)]
        self.model.sent += [transaction] * count
        await self.expect([index for index in self.model.due if index not in before])

    async def acknowledge(self, slot, chosen):
        """Acknowledge what the consumer may have got, in a transaction or without one."""
        model, visible = self.model, self.model.visible
        if not visible:
            return
        those = sorted({visible[each % len(visible)] for each in chosen})
        positions = [self.positions[index] for index in those]
        transaction = self.transaction(slot)
        if transaction is None:
            self.subscription.acknowledge(self.consumer, positions)
            model.acked.update(those)
        elif any(index in model.acked or model.is_pending(index) for index in those):
            await self.expect_conflict(transaction, positions)
        else:
            await self.subscription.acknowledge_in_transaction(
                self.consumer, transaction, positions
            )
            model.pending.setdefault(transaction, set()).update(those)
        await self.expect([])

    async def cumulative(self, slot, chosen):
        model, visible = self.model, self.model.visible
        if not visible or not self.kind.single_active:
            return
        index, transaction = visible[chosen % len(visible)], self.transaction(slot)
        position = self.positions[index]
        if transaction is None:
            self.subscription.acknowledge_cumulative(self.consumer, position)
            model.acked.update(range(index + 1))
        elif position <= self.subscription.mark or (
            model.upto is not None and (model.upto[0] != transaction or index <= model.upto[1])
        ):
            await self.expect_conflict(transaction, [position], cumulative=True)
        else:
            await self.subscription.acknowledge_in_transaction(
                self.consumer, transaction, [position], cumulative=True
            )
            model.upto = transaction, index
        await self.expect([])

    async def expect_conflict(self, *arguments, **fields):
        try:
            await self.subscription.acknowledge_in_transaction(self.consumer, *arguments, **fields)
        except TransactionConflict:
            return
        raise AssertionError("two acknowledge the same")

    async def end(self, slot, commit):
        """End a transaction as its coordinator does, and again: nothing comes of that."""
        model, transaction = self.model, self.slots[slot]
        if transaction is None:
            return
        self.slots[slot] = None
        before, known = model.due, len(model.visible)
        for _ in range(2):
            await self.topic.end_transaction(transaction, commit=commit)
        (model.committed if commit else model.aborted).add(transaction)
        await self.expect([index for index in model.due if index not in before])
        assert commit or len(model.visible) >= known
        before = model.due
        for _ in range(2):
            await self.subscription.end_transaction(transaction, commit=commit)
        acked = model.pending.pop(transaction, set())
        cumulative = model.upto is not None and model.upto[0] == transaction
        if cumulative:
            acked = acked | set(range(model.upto[1] + 1))
            model.upto = None
        if commit:
            model.acked |= acked
            model.acked_for_good |= acked
            await self.expect([])
        elif cumulative:
            await self.expect(model.due)  # All of it, from the mark on.
        else:
            await self.expect([index for index in model.due if index not in before])

    async def redeliver(self):
        self.subscription.redeliver(self.consumer, None)
        await self.expect(self.model.due)

    async def come_back(self):
        await self.topic.leave(self.subscription, self.consumer)
        await self.attach()

    async def seek(self, chosen):
        layout = self.topic.ledger.layout
        there = [i for i, each in enumerate(self.positions) if layout.locate(each) == each]
        if there:
            index = there[chosen % len(there)]
            await self.topic.seek(self.subscription, self.positions[index])
            self.model.acked = set(range(index))
            self.model.acked_for_good = set(range(index))
            await self.attach()

    async def reload(self, clean):
        if clean:
            await self.topic.close()
        self.bench = await self.look_again()
        cursor = self.topic.ledger.cursors["s"]
        acked = {i for i, each in enumerate(self.positions) if cursor.is_acknowledged(each)}
        model = self.model
        aborted = {i for i, whose in enumerate(model.sent) if whose in model.aborted}
        assert model.acked_for_good - aborted <= acked
        assert acked <= model.acked | aborted
        if clean:
            assert acked | aborted == model.acked | aborted
        model.acked = acked - aborted
        await self.attach()

    async def look_again(self):
        bench = await opened(
            metadata=MemoryMetadataStore(self.tree),
            ledgers=self.stores,
            ledger_settings=LEDGERS,
            failover_delay_ms=0,
        )
        self.benches.append(bench)
        self.topic = bench.topic
        await self.topic.recover()
        return bench

    async def close(self):
        for bench in self.benches:
            await bench.topic.close()
            await bench.tasks.close()


@settings(deadline=None)
@given(st.lists(steps, max_size=40), st.sampled_from(SubscriptionType))
def test_a_topic_does_with_transactions_what_the_model_says(story, kind):
    async def run():
        told = Story(kind)
        await told.begin()
        for name, *arguments in story:
            await getattr(told, name)(*arguments)
        await told.reload(clean=False)
        await told.seek(0)  # What is aborted is still known.
        await told.close()

    with (
        patch.object(topic_transactions, "SNAPSHOT_ENTRIES", 5),
        patch.object(topic_transactions, "READ_ENTRIES_MAX", 3),
        patch.object(transaction_snapshots, "WHOLE_EVERY", 3),
        patch.object(pending_ack_handle, "RECORDS_MAX", 6),
    ):
        loop.run(run())
