"""What few topics have: limits on rates, deduplication, transactions, compaction and so on.

Each is made when the policies or somebody ask for it; a topic without has nothing but an empty
place for it, and does nothing for it when something is published.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from magnetar.broker.topics.ended_transactions import EndedTransactions
from magnetar.broker.topics.features.compaction import TopicCompaction, bytes_to_compact
from magnetar.broker.topics.features.deduplication import CURSOR, Deduplication
from magnetar.broker.topics.features.publish_throttle import Publish
from magnetar.broker.topics.features.topic_deduplication import TopicDeduplication
from magnetar.broker.topics.features.topic_offload import TopicOffload
from magnetar.broker.topics.features.topic_rates import TopicRates, limited
from magnetar.broker.topics.features.topic_transactions import TopicTransactions
from magnetar.broker.topics.publishing.topic_producers import TopicProducers
from magnetar.broker.topics.publishing.topic_writer import TopicWriter
from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.broker.topics.topic_subscriptions import TopicSubscriptions
from magnetar.broker.topics.transaction_logs import PUBLISHED_BEHIND
from magnetar.model.policies import Policies
from magnetar.model.stats import TopicStats
from magnetar.model.txn_id import TxnId
from magnetar.storage.managed_ledger.compaction import COMPACTION_CURSOR

if TYPE_CHECKING:  # Who replicates nothing does not pay for it.
    from magnetar.broker.topics.features.replicator import Replicator
    from magnetar.broker.topics.features.topic_replication import TopicReplication
    from magnetar.broker.topics.replicated_subscriptions import ReplicatedSubscriptions

_NO_REPLICATORS: Final[Mapping[str, "Replicator"]] = MappingProxyType({})


class TopicFeatures:
    """The features of one topic."""

    __slots__ = (
        "_context",
        "_deduplication",
        "_ends",
        "_ledger",
        "_producers",
        "_recovers",
        "_state",
        "_subscriptions",
        "_writer",
        "compaction",
        "offload",
        "rates",
        "replication",
        "transactions",
    )

    def __init__(
        self,
        state: StoredTopicState,
        writer: TopicWriter,
        producers: TopicProducers,
        subscriptions: TopicSubscriptions,
    ) -> None:
        self._state = state
        self._ledger = state.ledger
        self._writer = writer
        self._producers = producers
        self._subscriptions = subscriptions
        self._context = state.context
        self._deduplication: TopicDeduplication | None = None
        self.rates: TopicRates | None = None
        self.compaction: TopicCompaction | None = None
        self.offload: TopicOffload | None = None
        self.replication: TopicReplication | None = None
        self.transactions: TopicTransactions | None = None
        self._ends: EndedTransactions | None = None  # Those it was told of before it had any.
        # Until it is known what was aborted, nothing may be sent elsewhere.
        self._recovers = PUBLISHED_BEHIND in state.ledger.properties
        if self._recovers:
            self.transactions = TopicTransactions(state, writer)
        else:
            writer.begin_transactions = self._begin_transactions

    @property
    def publish(self) -> Publish:
        """What takes the runs of producers that come."""
        return self._writer.publish if self.rates is None else self.rates.publish

    @property
    def deduplication(self) -> Deduplication | None:
        """What deduplicates the topic; None while nothing does."""
        return None if self._deduplication is None else self._deduplication.active

    @property
    def replicators(self) -> Mapping[str, "Replicator"]:
        """What sends it to other clusters, by cluster."""
        return _NO_REPLICATORS if self.replication is None else self.replication.replicators

    @property
    def running(self) -> bool:
        """The topic is being compacted or offloaded."""
        return self._compacts or (self.offload is not None and self.offload.running)

    @property
    def counting(self) -> bool:
        """Whether there is one that counts what stats tell."""
        those = (self.rates, self.compaction, self.offload, self.replication, self.transactions)
        return any(those)

    def apply(self) -> None:
        """Let the policies that hold now act, and make what they ask for."""
        policies = self._state.policies
        self._limit_rates(policies)
        if self.offload is not None:
            self.offload.apply(policies.offload)
        elif self._ledger.has_offloaded or (policies.offload and policies.offload.driver):
            self.offloading()
        if policies.deduplication or CURSOR in self._ledger.cursors:
            self._deduplication = self._deduplication or TopicDeduplication(
                self._state, self._writer, self._producers
            )
        if self._deduplication is not None:
            self._deduplication.apply()
        if not self._recovers:
            self._replicate()

    def fill(self, stats: TopicStats) -> None:
        """Add what each of them that there is can tell."""
        stats.deduplicates = self.deduplication is not None
        if self.compaction is not None:
            self.compaction.fill(stats)
        if self.offload is not None:
            self.offload.fill(stats)
        if self.replication is not None:
            self.replication.fill(stats)
        if self.transactions is not None:
            self.transactions.fill(stats)

    async def recover(self) -> None:
        """Learn what was stored, before anybody uses the topic. Raises what the stores raise."""
        if self._deduplication is not None:
            await self._deduplication.settled()
        if self.transactions is not None:
            await self.transactions.recover()
            self._recovers = False
            self._replicate()
        if self.replication is not None:
            await self.replication.settled()

    def _begin_transactions(self) -> None:
        """The first transaction publishes to the topic."""
        self.transactions = TopicTransactions(self._state, self._writer, self._ends)
        self.transactions.begin()
        for subscription in self._subscriptions.by_name.values():
            subscription.begin_transactions()

    async def end_transaction(
        self, transaction: TxnId, *, commit: bool, low_watermark: int
    ) -> None:
        """End a transaction as ``StoredTopic.end_transaction`` says."""
        if self.transactions is not None:
            await self.transactions.end(transaction, commit=commit, low_watermark=low_watermark)
            return
        if self._ends is None:
            self._ends = EndedTransactions()
        self._ends.end(transaction)  # What it publishes may come yet.
        self._ends.raise_watermark(transaction.most_bits, low_watermark)

    def compact(self) -> None:
        """Begin to compact. Raises AlreadyExists while it runs, TopicClosed."""
        self._state.check_open()
        if self.compaction is None:
            self.compaction = TopicCompaction(self._state)
        self.compaction.start()

    def compact_if_due(self) -> None:
        """Compact if so much was published since the last compaction as the policy says."""
        threshold = self._state.policies.compaction_threshold_bytes
        if threshold and not self._compacts and bytes_to_compact(self._ledger) > threshold:
            self.compact()

    async def end_compaction(self) -> None:
        """Forget what was compacted. Raises what the stores raise."""
        if self.compaction is not None:
            await self.compaction.close()
        await self._ledger.delete_cursor(COMPACTION_CURSOR)

    def offloading(self) -> TopicOffload:
        """What offloads the topic, made where there is none. Raises TopicClosed."""
        self._state.check_open()
        if self.offload is None:
            self.offload = TopicOffload(self._state)
            self.offload.apply(self._state.policies.offload)
        return self.offload

    def replicate_subscriptions(self) -> None:
        """Subscriptions may have come that are replicated, or are no longer."""
        if self.replication is None:
            return
        if self.replication.subscriptions is not None or any(
            each.replicated for each in self._subscriptions.by_name.values()
        ):
            self.replication.replicate_subscriptions()

    async def maintain(self) -> None:
        """Save what is due. Raises what the stores raise."""
        if self._deduplication is not None:
            await self._deduplication.maintain()
        if self.replication is not None:
            await self.replication.maintain()

    def prepare_for_rest(self) -> bool:
        """False: one of them has something to do, and the topic must stay loaded."""
        if self.offload is not None and not self.offload.may_rest():
            return False
        if self.replication is not None and not self.replication.may_rest():
            return False
        if self._deduplication is not None:
            self._deduplication.snapshot()
        return self.transactions is None or not self.transactions.buffer.open

    def lose(self) -> None:
        """Do no more for others: another broker may serve the topic."""
        for replicator in self.replicators.values():
            replicator.stop()

    async def close(self) -> None:
        """End what runs, and keep what it must not forget."""
        if self.compaction is not None:
            await self.compaction.close()
        if self.offload is not None:
            await self.offload.close()
        if self.replication is not None:
            await self.replication.close()
        if self._deduplication is not None:
            await self._deduplication.close()
        if self.transactions is not None:
            await self.transactions.close()

    def _replicate(self) -> None:
        clusters = self._context.clusters
        if self.replication is None:
            if clusters is None or not (
                clusters.of_topic(self._state.name, self._state.policies)
                or clusters.with_cursors(self._ledger.cursors)
            ):
                return
            from magnetar.broker.topics.features.topic_replication import (  # noqa: PLC0415 - as above
                TopicReplication,
            )

            self.replication = TopicReplication(
                self._state,
                self._writer,
                self._producers.attached,
                clusters,
                self._replicated_subscriptions,
            )
            self.replicate_subscriptions()
        self.replication.apply()

    def _replicated_subscriptions(
        self, replication: "TopicReplication"
    ) -> "ReplicatedSubscriptions | None":
        """What keeps subscriptions in other clusters; None where the settings say no."""
        clusters = self._context.clusters
        if clusters is None or not clusters.settings.subscriptions:
            return None
        from magnetar.broker.topics.replicated_subscriptions import (  # noqa: PLC0415 - as above
            ReplicatedSubscriptions,
        )

        return ReplicatedSubscriptions(
            self._state, self._writer, self._subscriptions, replication.replicators, clusters
        )

    @property
    def _compacts(self) -> bool:
        return self.compaction is not None and self.compaction.running

    def _limit_rates(self, policies: Policies) -> None:
        shared, writer = self._context.shared_rates, self._writer
        if self.rates is None and limited(policies, shared):
            self.rates = self._subscriptions.rates = TopicRates(
                writer.publish, writer.published, shared, self._context.clock
            )
        if self.rates is not None:
            self.rates.apply(policies, self._producers.attached.values())
            for subscription in self._subscriptions.by_name.values():
                subscription.limit_rates(self.rates, policies)
