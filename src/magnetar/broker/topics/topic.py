"""The contract of a topic: what the rest of the broker may ask of one, wherever its entries are."""

from collections.abc import Callable, Mapping
from typing import Protocol

from magnetar.broker.topics.client_connection import ClientConnection
from magnetar.broker.topics.features.compaction import TopicCompaction
from magnetar.broker.topics.features.publish_throttle import PublishThrottle
from magnetar.broker.topics.features.topic_offload import TopicOffload
from magnetar.broker.topics.log.backlog import BacklogCount
from magnetar.broker.topics.log.backlog_limits import Backlogged
from magnetar.broker.topics.log.topic_log import TopicLog
from magnetar.broker.topics.log.topic_upkeep import TopicUpkeep
from magnetar.broker.topics.publishing.producer import Producer
from magnetar.broker.topics.publishing.producer_access import SHARED_ACCESS, AccessRequest
from magnetar.broker.topics.subscriptions.consumer import Consumer, DeliveryTotals, SubscribeRequest
from magnetar.broker.topics.subscriptions.persistent_subscription import PersistentSubscription
from magnetar.broker.topics.subscriptions.subscription import Subscription
from magnetar.errors import NotAllowed
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.names import TopicName
from magnetar.model.policies import Policies
from magnetar.model.position import Position
from magnetar.model.stats import TopicStats
from magnetar.model.txn_id import TxnId


class Topic(Protocol):
    """One topic, loaded here."""

    loaded_at_ms: int
    used_at: float
    """When it was last used, by ``Clock.now``."""

    # All of these count from when it was loaded. ``removed_totals`` is what deleted subscriptions
    # had delivered, ``detached_chunk_count`` the chunks of producers that have left.
    @property
    def message_count(self) -> int: ...

    @property
    def size_bytes(self) -> int: ...

    @property
    def last_publish_ms(self) -> int: ...

    @property
    def detached_chunk_count(self) -> int: ...

    @property
    def removed_totals(self) -> DeliveryTotals: ...

    @property
    def name(self) -> TopicName: ...

    @property
    def producers(self) -> Mapping[str, Producer]:
        """The attached producers, by name. Read only."""

    @property
    def publish_throttle(self) -> PublishThrottle | None:
        """What holds producers to rates; None where there is no limit on any."""

    @property
    def waiting_producers(self) -> int:
        """Producers that wait until they may have it for themselves."""

    @property
    def subscriptions(self) -> Mapping[str, Subscription]:
        """By name. Read only."""

    @property
    def busy(self) -> int:
        """Producers and consumers connected."""

    @property
    def idle(self) -> bool:
        """Whether it is idle: no client, no reader that may return, no append under way."""

    @property
    def fenced(self) -> bool:
        """Whether its log is fenced, so that it must be opened again."""

    @property
    def storage_bytes(self) -> int:
        """The topic's log."""

    @property
    def stored(self) -> "StoredTopic | None":
        """Itself, where it keeps what is published; None for a non-persistent topic."""

    def apply(self, policies: Policies) -> None:
        """Apply new policies, also to what is attached; they disconnect no client."""

    async def attach_producer(
        self,
        connection: ClientConnection,
        producer_id: int,
        name: str | None,
        *,
        epoch: int = 0,
        metadata: dict[str, str] | None = None,
        initial_subscription: str = "",
        access: AccessRequest = SHARED_ACCESS,
    ) -> Producer:
        """Attach a producer; a name is made up where there is None.

        ``initial_subscription`` is made first, for it must not miss what this producer sends.
        One that asks to wait for its turn is attached when it comes. Raises ProducerBusy while
        another with the name lives, the topic has an exclusive producer or as many as it may;
        ProducerFenced; InvalidValue where it must encrypt and does not; NotAllowed, TopicClosed.
        """

    async def subscribe(
        self, request: SubscribeRequest, connection: ClientConnection
    ) -> tuple[Subscription, Consumer]:
        """Attach a consumer; the subscription is created where it does not exist and may be.

        Raises what ``Subscription.add`` raises, ProducerBusy for a bad subscription name (as Pulsar
        does), ConsumerBusy and LimitReached where there are as many as there may be,
        SubscriptionNotFound, NotAllowed when a durable and a non-durable subscription clash,
        TopicClosed.
        """

    async def leave(self, subscription: Subscription, consumer: Consumer) -> None:
        """A consumer goes. A non-durable subscription goes with its last consumer."""

    async def delete_subscription(self, name: str, *, force: bool = False) -> None:
        """Delete a subscription, and its place in the log.

        Raises SubscriptionNotFound; ConsumerBusy while consumers are connected, unless forced.
        """

    async def unsubscribe(
        self, subscription: Subscription, consumer: Consumer, *, force: bool
    ) -> None:
        """A consumer deletes its subscription. Raises NotAllowed when others are connected."""

    async def oldest_publish_time_ms(self, subscription: Subscription) -> int:
        """When the first entry was published that is not acknowledged; -1 where all are.

        Raises what the stores raise.
        """

    async def maintain(self) -> None:
        """Roll over and trim what is due. Raises what the stores raise."""

    async def prepare_for_rest(self) -> bool:
        """Delete what may be deleted. False: it must stay loaded, or something would be lost.

        Raises what the stores raise.
        """

    async def close(self, to: BrokerAddress | None = None) -> None:
        """Let go of everybody, in order: what was sent before is stored and answered.

        ``to`` is the broker that serves the topic next, of which clients are told.
        """

    def lose(self) -> None:
        """Let go of everybody at once, and answer nothing more: another broker may serve it.

        The caller must then ``close`` it.
        """

    async def delete(self) -> None:
        """Close, and delete the log with all subscriptions."""


class StoredTopic(Topic, Protocol):
    """A topic that keeps what is published: what only such a one can be asked."""

    @property
    def subscriptions(self) -> Mapping[str, PersistentSubscription]: ...

    @property
    def last_position(self) -> Position:
        """The last entry, or where it was; (ledger, -1) in a topic that never had one."""

    @property
    def replicators(self) -> Mapping[str, Backlogged]:
        """What sends to other clusters, by their names."""

    async def oldest_publish_time_ms(self, subscription: Subscription | Backlogged) -> int: ...

    def watch_appends(self, grew: Callable[[], None]) -> None:
        """Call this when something was stored, for as long as the topic is open."""

    def expect_appends(self) -> None:
        """Have a ledger begun for what somebody is about to append, where there is none."""

    async def create_subscription(
        self, name: str, start: Position, properties: dict[str, str] | None = None
    ) -> PersistentSubscription:
        """Create a durable subscription whose first message is at ``start``.

        Raises ConsumerBusy, LimitReached.
        """

    async def set_properties(
        self,
        subscription: PersistentSubscription,
        properties: Mapping[str, str] | None = None,
        *,
        replicated: bool | None = None,
    ) -> None:
        """Replace a subscription's properties, or say whether other clusters are to have it.

        It is durable. None leaves what there is. Raises what the stores raise.
        """

    async def seek(
        self,
        subscription: PersistentSubscription,
        position: Position,
        *,
        ack_set: list[int] | None = None,
        excluded: bool = False,
    ) -> None:
        """Close all consumers, and make ``position`` the next entry to be delivered.

        ``excluded``: the one after it. The consumers are expected back; a non-durable subscription
        they do not come back to is dropped after a while. Raises Fenced while another seek is under
        way.
        """

    async def seek_to_time(
        self, subscription: PersistentSubscription, publish_time_ms: int
    ) -> None:
        """Seek to the first entry published then or later; to the end where none was."""

    async def skip(self, subscription: Backlogged, count: int | None = None) -> None:
        """Acknowledge the next ``count`` entries that are not acknowledged yet; None: all."""

    async def count_backlog(
        self, subscription: PersistentSubscription, start: Position | None = None
    ) -> BacklogCount:
        """Read and count what is not acknowledged, from ``start`` on where it is given.

        Raises what the stores raise.
        """

    async def end_transaction(
        self, transaction: TxnId, *, commit: bool, low_watermark: int = -1
    ) -> None:
        """Commit or abort what was published in a transaction; return when that is durable.

        Called again, or for a transaction that published nothing here, it changes nothing: the
        caller may ask until it is answered. What transactions of the same coordinator up to number
        ``low_watermark`` have published and nobody ended is aborted. Raises Fenced, TopicClosed.

        A run whose ``transaction`` is not None is hidden until then. Acknowledgements in
        transactions, and their ends, are of ``Subscription``.
        """

    @property
    def policies(self) -> Policies:
        """The policies in force."""

    @property
    def upkeep(self) -> TopicUpkeep:
        """What time brings; made when it is asked for, so that a topic at rest has none."""

    @property
    def unused_max_s(self) -> float | None:
        """The topic is deleted when it was idle for so long; None: it is not to be deleted."""

    @property
    def compaction(self) -> TopicCompaction | None:
        """How its compaction stands; None when there was none since it was loaded."""

    def compact(self) -> None:
        """Begin to compact it. Raises AlreadyExists while it is being compacted, TopicClosed."""

    async def compact_if_due(self) -> None:
        """Compact if so much was published since the last compaction as the policy says."""

    @property
    def offload(self) -> TopicOffload | None:
        """How its offloading stands; None where nothing of it is offloaded, nor is to be."""

    def offloading(self) -> TopicOffload:
        """What offloads it, made where there is none. Raises TopicClosed."""

    @property
    def has_counting_features(self) -> bool:
        """Whether a feature counts what stats tell, such as transactions or limits on rates."""

    def fill(self, stats: TopicStats) -> None:
        """Add what only a topic that keeps messages can tell."""

    @property
    def log(self) -> TopicLog:
        """The stored entries, for readers without a subscription; made on first use."""

    @property
    def terminated_at(self) -> Position | None:
        """The last entry of a topic that has ended, (ledger, -1) without any; None: it goes on."""

    async def terminate(self) -> Position:
        """End the topic: producers are let go, and refused from now on with TopicTerminated.

        Consumers hear of it when their subscription has acknowledged everything. Again, they hear
        of it again. Returns the last entry. Raises what the stores raise.
        """


def storing(topic: Topic) -> StoredTopic:
    """The topic as one that keeps messages. Raises NotAllowed."""
    if topic.stored is None:
        raise NotAllowed(f"{topic.name} keeps no messages: there is no place in it to go to")
    return topic.stored
