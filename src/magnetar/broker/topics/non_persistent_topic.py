"""A non-persistent topic: what is published goes to who can take it now, and is kept nowhere."""

import logging
from collections.abc import Mapping, Sequence

from magnetar.broker.topics.admission import Admission
from magnetar.broker.topics.client_connection import ClientConnection
from magnetar.broker.topics.features.publish_throttle import PublishThrottle
from magnetar.broker.topics.features.topic_rates import TopicRates, limited
from magnetar.broker.topics.publishing.producer import Producer
from magnetar.broker.topics.publishing.producer_access import (
    SHARED_ACCESS,
    AccessRequest,
    ProducerRequest,
)
from magnetar.broker.topics.publishing.topic_producers import TopicProducers
from magnetar.broker.topics.subscriptions.consumer import Consumer, DeliveryTotals, SubscribeRequest
from magnetar.broker.topics.subscriptions.non_persistent_dispatch import PassingRun
from magnetar.broker.topics.subscriptions.non_persistent_subscription import (
    NonPersistentSubscription,
)
from magnetar.broker.topics.subscriptions.subscription import Subscription
from magnetar.broker.topics.subscriptions.subscription_names import check_subscription_name
from magnetar.broker.topics.topic_context import TopicContext
from magnetar.broker.topics.topic_state import TopicState
from magnetar.errors import (
    ConsumerBusy,
    MagnetarError,
    NotAllowed,
    SubscriptionNotFound,
)
from magnetar.message.entry_traits import EntryTraits
from magnetar.message.send_run import SendRun
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.names import TopicName
from magnetar.model.policies import Policies
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)


class NonPersistentTopic:
    """A topic that is in no store; ``topic.py`` says what its methods promise.

    It is there from its first use until nobody has used it for a while. A send is answered in the
    same call in which it is handed to the consumers: nothing waits here, so nothing needs a bound.
    """

    stored = None
    fenced = False
    storage_bytes = 0

    def __init__(
        self,
        name: TopicName,
        *,
        context: TopicContext,
        policies: Policies,
    ) -> None:
        self.name = name
        self.loaded_at_ms = context.clock.wall_ms()
        self.used_at = context.clock.now()
        self.message_count = 0
        self.size_bytes = 0
        self.last_publish_ms = 0
        self.entry_count = 0
        """Entries published since it was loaded."""
        self.removed_totals = DeliveryTotals()
        self._by_name: dict[str, NonPersistentSubscription] = {}
        state = self._state = TopicState(name, context, policies)
        self._producers = TopicProducers(state, _KeptInMemory())
        self._admission = Admission(state, producers=self.producers, subscriptions=self._by_name)
        self._context = context
        self._tasks = Tasks(f"topic {name}")
        self._rates: TopicRates | None = None
        self._limit_rates(policies)

    @property
    def producers(self) -> Mapping[str, Producer]:
        return self._producers.attached

    @property
    def subscriptions(self) -> Mapping[str, NonPersistentSubscription]:
        return self._by_name

    @property
    def detached_chunk_count(self) -> int:
        return self._producers.detached_chunk_count

    @property
    def publish_throttle(self) -> PublishThrottle | None:
        return None if self._rates is None else self._rates.throttle

    @property
    def waiting_producers(self) -> int:
        return self._producers.waiting

    @property
    def busy(self) -> int:
        return len(self.producers) + sum(len(each.consumers) for each in self._by_name.values())

    @property
    def idle(self) -> bool:
        return not self.busy

    def apply(self, policies: Policies) -> None:
        self._state.policies = policies
        self._limit_rates(policies)
        for producer in self.producers.values():
            producer.apply(policies)
        for subscription in self._by_name.values():
            subscription.apply(policies)

    def _limit_rates(self, policies: Policies) -> None:
        """Apply publish rates only: nothing is stored that could be delivered later."""
        if self._rates is None and limited(policies, self._context.shared_rates):
            self._rates = TopicRates(
                self.publish,
                lambda: (self.message_count, self.size_bytes),
                self._context.shared_rates,
                self._context.clock,
            )
        if self._rates is not None:
            self._rates.apply(policies, self.producers.values())

    def publish(self, producer: Producer, run: SendRun) -> None:
        """Pass a run on, and answer it."""
        if self._state.closed:
            producer.dropped(run)
            return
        if run.transaction is not None:
            producer.refused(run, NotAllowed("A non-persistent topic takes part in no transaction"))
            return
        limit = self._context.settings.non_persistent_sends_max
        rest = None
        if limit and len(run.data) > limit:
            run, rest = run.part(0, limit), run.part(limit, len(run.data))
        if run.traits.unusual and (chunks := _chunks(run)):
            for error, part in run.split_by(chunks):
                if error is None:
                    self._pass_on(producer, part)
                else:
                    producer.refused(part, error)
        else:
            self._pass_on(producer, run)
        if rest is not None:
            producer.undelivered(rest)

    def _pass_on(self, producer: Producer, run: SendRun) -> None:
        traits = run.traits
        entries = len(run.data)
        self.message_count += run.message_count
        self.size_bytes += run.size_bytes
        self.entry_count += entries
        self.last_publish_ms = self._context.clock.wall_ms()
        if self._by_name:
            passing = PassingRun(0, 0, run.data, run.checksums, traits, run.size_bytes)
            indexes = _readable(traits, entries)
            for subscription in self._by_name.values():
                try:
                    subscription.publish(passing, traits, indexes)
                except Exception:  # A defect of ours stops neither the others nor the producers.
                    log.exception(
                        "subscription.defect topic=%s name=%s", self.name, subscription.name
                    )
        producer.delivered(run)

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
        """``initial_subscription`` is not made: nothing would wait in it."""
        self._state.check_open()
        request = ProducerRequest(
            self._context.producer_name() if name is None else name,
            connection,
            producer_id,
            epoch,
            metadata or {},
            access,
        )
        with self._admission.producer(
            request.name, address=connection.address, encrypted=access.encrypted
        ):
            async with self._producers.access.admitted(request):
                self._state.check_open()
                publish = self.publish if self._rates is None else self._rates.publish
                return self._producers.attach(request, publish)

    async def subscribe(
        self, request: SubscribeRequest, connection: ClientConnection
    ) -> tuple[NonPersistentSubscription, Consumer]:
        self._state.check_open()
        check_subscription_name(request.subscription)
        self._admission.check_subscribe_rate(request, connection.address, self._context.clock.now())
        with self._admission.consumer(request, address=connection.address):
            subscription = self._by_name.get(request.subscription)
            if subscription is None:
                subscription = self._new_subscription(request)
            try:
                return subscription, await subscription.add(request, connection)
            except MagnetarError:
                self._drop_if_left(subscription)
                raise

    def _new_subscription(self, request: SubscribeRequest) -> NonPersistentSubscription:
        with self._admission.subscription(request.subscription):
            subscription = NonPersistentSubscription(request, self._state, self._tasks)
            self._by_name[request.subscription] = subscription
            return subscription

    async def leave(self, subscription: Subscription, consumer: Consumer) -> None:
        subscription.remove(consumer)
        self._drop_if_left(subscription)

    async def delete_subscription(self, name: str, *, force: bool = False) -> None:
        subscription = self._by_name.get(name)
        if subscription is None:
            raise SubscriptionNotFound(f"Subscription {name} not found for topic {self.name}")
        if subscription.consumers and not force:
            raise ConsumerBusy(f"Subscription {name} has active connected consumers")
        self._drop(subscription)

    async def unsubscribe(
        self, subscription: Subscription, consumer: Consumer, *, force: bool
    ) -> None:
        subscription.check_unsubscribe(consumer, force=force)
        self._drop(subscription)

    async def oldest_publish_time_ms(self, subscription: Subscription) -> int:
        return -1

    async def maintain(self) -> None:
        """There is nothing to trim."""

    async def prepare_for_rest(self) -> bool:
        return True

    def lose(self) -> None:
        self._let_go(None)

    async def close(self, to: BrokerAddress | None = None) -> None:
        self._let_go(to)
        await self._tasks.close()

    def _let_go(self, to: BrokerAddress | None) -> None:
        self._state.closed = True
        self._producers.disconnect(to)
        for subscription in list(self._by_name.values()):
            subscription.close(to)

    async def delete(self) -> None:
        await self.close()

    def _drop_if_left(self, subscription: Subscription) -> None:
        if not subscription.durable and not subscription.consumers:
            self._drop(subscription)

    def _drop(self, subscription: Subscription) -> None:
        if self._by_name.get(subscription.name) is subscription:
            subscription.close()
            del self._by_name[subscription.name]
            self.removed_totals.add(subscription.closed_totals)


class _KeptInMemory:
    """The topic's properties, in memory: the epoch of its exclusive producers."""

    def __init__(self) -> None:
        self.properties: dict[str, str] = {}

    async def change_properties(self, changed: Mapping[str, str]) -> None:
        self.properties |= changed


def _readable(traits: EntryTraits, entries: int) -> Sequence[int]:
    """All entries but those whose metadata is corrupt."""
    if not traits.unusual:
        return range(entries)
    corrupt = traits.corrupt
    return [index for index in range(entries) if index not in corrupt]


def _chunks(run: SendRun) -> dict[int, MagnetarError]:
    """Chunks, which are refused, by index: no broker puts them together, and one may be dropped."""
    error = NotAllowed("A non-persistent topic takes no chunks: send smaller messages to it")
    return {
        index: error
        for index, seen in run.traits.unusual.items()
        if seen is not None and seen.chunk is not None
    }
