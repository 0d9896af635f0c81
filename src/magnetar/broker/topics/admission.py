"""Who may be attached to a topic: its policies' limits, and the rules for new subscriptions.

Everybody takes a place before the first ``await`` and gives it back when attached or refused: of
several who come at once, none sees fewer than there will be.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import field

from magnetar.broker.topics.features.subscribe_throttle import SubscribeThrottle
from magnetar.broker.topics.publishing.producer import Producer
from magnetar.broker.topics.subscriptions.consumer import Consumer, SubscribeRequest
from magnetar.broker.topics.subscriptions.subscription import Subscription
from magnetar.broker.topics.topic_state import TopicState
from magnetar.errors import (
    ConsumerBusy,
    InvalidValue,
    LimitReached,
    NotAllowed,
    ProducerBusy,
    SubscriptionNotFound,
)
from magnetar.late_dataclass import dataclass
from magnetar.model.subscriptions import SubscriptionType


@dataclass(slots=True)
class _Arriving:
    """How many are being attached, by the name of the producer or the subscription."""

    producers: Counter[str] = field(default_factory=Counter)
    consumers: Counter[str] = field(default_factory=Counter)
    subscriptions: Counter[str] = field(default_factory=Counter)
    # By the host of their client, only where there is a limit.
    producer_hosts: Counter[str] = field(default_factory=Counter)
    consumer_hosts: Counter[str] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        named = self.producers or self.consumers or self.subscriptions
        return bool(named or self.producer_hosts or self.consumer_hosts)


class Admission:
    """Counts a topic's producers and consumers against limits. A lower limit disconnects none."""

    __slots__ = ("_arrivals", "_producers", "_state", "_subscribes", "_subscriptions", "_topic")

    def __init__(
        self,
        state: TopicState,
        *,
        producers: Mapping[str, Producer],
        subscriptions: Mapping[str, Subscription],
    ) -> None:
        self._state = state
        self._topic = state.name
        self._producers = producers
        self._subscriptions = subscriptions
        self._arrivals: _Arriving | None = None  # Nobody is being attached.
        self._subscribes: SubscribeThrottle | None = None

    @contextmanager
    def producer(self, name: str, *, address: str = "", encrypted: bool = False) -> Iterator[None]:
        """Let a producer of a client at ``address`` in; it may replace one of its name.

        Raises ProducerBusy; InvalidValue for one that does not encrypt where it must.
        """
        arriving, limit = self._arriving(), self._state.policies.producers_per_topic_max
        if limit:
            names = self._producers.keys() | arriving.producers.keys()
            if name not in names and len(names) >= limit:
                raise ProducerBusy(f"Topic '{self._topic}' reached max producers limit")
        if self._state.policies.encryption_required and not encrypted:
            raise InvalidValue(f"Encryption is required in {self._topic}")
        host, limit = host_of(address), self._state.policies.producers_per_address_max
        if limit:
            others = [each for each in self._producers.values() if each.name != name]
            if _from_host(host, others) + arriving.producer_hosts[host] >= limit:
                raise ProducerBusy(
                    f"Topic '{self._topic}' reached max same address producers limit"
                )
        with (
            self._held(arriving, arriving.producers, name),
            self._held(arriving, arriving.producer_hosts, host) if limit else nullcontext(),
        ):
            yield

    @contextmanager
    def consumer(self, request: SubscribeRequest, *, address: str = "") -> Iterator[None]:
        """Let a consumer of a client at ``address`` in.

        Raises ConsumerBusy; NotAllowed for a type that is not enabled.
        """
        policies, name, arriving = self._state.policies, request.subscription, self._arriving()
        if request.type is SubscriptionType.KEY_SHARED and policies.key_shared_enabled is False:
            raise NotAllowed("Key_Shared subscription is disabled by broker.")
        types = policies.subscription_types
        if types and request.type.printed not in types:
            raise NotAllowed(
                f"Topic[{{{self._topic}}}] doesn't support {request.type.printed} sub type!"
            )
        if limit := policies.consumers_per_topic_max:
            here = sum(len(one.consumers) for one in self._subscriptions.values())
            if here + arriving.consumers.total() >= limit:
                raise ConsumerBusy("Topic reached max consumers limit")
        if limit := policies.consumers_per_subscription_max:
            present = self._subscriptions.get(name)
            here = 0 if present is None else len(present.consumers)
            if here + arriving.consumers[name] >= limit:
                raise ConsumerBusy("Subscription reached max consumers limit")
        host, limit = host_of(address), policies.consumers_per_address_max
        if limit:
            present_ones = [each for one in self._subscriptions.values() for each in one.consumers]
            if _from_host(host, present_ones) + arriving.consumer_hosts[host] >= limit:
                raise ConsumerBusy("Topic reached max same address consumers limit")
        with (
            self._held(arriving, arriving.consumers, name),
            self._held(arriving, arriving.consumer_hosts, host) if limit else nullcontext(),
        ):
            yield

    def check_subscribe_rate(self, request: SubscribeRequest, address: str, now: float) -> None:
        """Count how often a consumer at ``address`` subscribes. Raises NotAllowed."""
        rate = self._state.policies.subscribe_rate
        if rate is None or rate.per_consumer <= 0:
            self._subscribes = None
            return
        if self._subscribes is None or self._subscribes.rate != rate:
            self._subscribes = SubscribeThrottle(rate)
        self._subscribes.admit((host_of(address), request.consumer_name, request.consumer_id), now)

    @contextmanager
    def subscription(self, name: str) -> Iterator[None]:
        """Let a durable subscription be created. Raises LimitReached."""
        arriving, limit = self._arriving(), self._state.policies.subscriptions_per_topic_max
        if limit:
            durable = {one.name for one in self._subscriptions.values() if one.durable}
            names = durable | arriving.subscriptions.keys()
            if name not in names and len(names) >= limit:
                raise LimitReached(
                    f"Exceed the maximum number of subscriptions of the topic: {self._topic}"
                )
        with self._held(arriving, arriving.subscriptions, name):
            yield

    def check_first_use(self, *, by_producer: bool = False) -> None:
        """Whether a client makes a durable subscription by using it.

        Raises SubscriptionNotFound, or NotAllowed to a producer that needs one.
        """
        auto = self._state.policies.auto_subscription_creation
        if auto is not None and auto.allowed:
            return
        if by_producer:
            raise NotAllowed(
                "Could not create the initial subscription due to the auto subscription creation "
                "is not allowed."
            )
        raise SubscriptionNotFound("Subscription does not exist")

    def _arriving(self) -> _Arriving:
        return self._arrivals or _Arriving()

    @contextmanager
    def _held(self, arriving: _Arriving, places: Counter[str], name: str) -> Iterator[None]:
        """Count one more of this name until the block ends."""
        self._arrivals = arriving
        places[name] += 1
        try:
            yield
        finally:
            places[name] -= 1
            if not places[name]:
                del places[name]
            if not arriving:
                self._arrivals = None


def host_of(address: str) -> str:
    """The host of a client's ``host:port``."""
    return address.rpartition(":")[0]


def _from_host(host: str, attached: Iterable[Producer | Consumer]) -> int:
    return sum(host_of(each.connection.address) == host for each in attached)
