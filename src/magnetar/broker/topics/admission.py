"""Who may be attached to a topic: its policies' limits, and the rules for new subscriptions.

Everybody takes a place before the first ``await`` and gives it back when attached or refused: of
several who come at once, none sees fewer than there will be.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from magnetar.broker.topics.consumer import SubscribeRequest
from magnetar.broker.topics.producer import Producer
from magnetar.broker.topics.subscription import Subscription
from magnetar.errors import (
    ConsumerBusy,
    LimitReached,
    NotAllowed,
    ProducerBusy,
    SubscriptionNotFound,
)
from magnetar.model.names import TopicName
from magnetar.model.policies import Policies


class Admission:
    """The places of one topic. ``policies`` may be replaced; a lower limit sends nobody away."""

    def __init__(
        self,
        topic: TopicName,
        policies: Policies,
        *,
        producers: Mapping[str, Producer],
        subscriptions: Mapping[str, Subscription],
    ) -> None:
        self.policies = policies
        self._topic = topic
        self._producers = producers
        self._subscriptions = subscriptions
        # How many are being attached, by the name of the producer or the subscription.
        self._new_producers: Counter[str] = Counter()
        self._new_consumers: Counter[str] = Counter()
        self._new_subscriptions: Counter[str] = Counter()

    @contextmanager
    def producer(self, name: str) -> Iterator[None]:
        """Let a producer in; it may replace one of its name. Raises ProducerBusy."""
        limit = self.policies.producers_per_topic_max
        if limit:
            names = self._producers.keys() | self._new_producers.keys()
            if name not in names and len(names) >= limit:
                raise ProducerBusy(f"Topic '{self._topic}' reached max producers limit")
        with _held(self._new_producers, name):
            yield

    @contextmanager
    def consumer(self, request: SubscribeRequest) -> Iterator[None]:
        """Let a consumer in. Raises ConsumerBusy; NotAllowed for a type that is not enabled."""
        policies, name = self.policies, request.subscription
        types = policies.subscription_types
        if types and request.type.printed not in types:
            raise NotAllowed(
                f"Topic[{{{self._topic}}}] doesn't support {request.type.printed} sub type!"
            )
        if limit := policies.consumers_per_topic_max:
            here = sum(len(one.consumers) for one in self._subscriptions.values())
            if here + self._new_consumers.total() >= limit:
                raise ConsumerBusy("Topic reached max consumers limit")
        if limit := policies.consumers_per_subscription_max:
            present = self._subscriptions.get(name)
            here = 0 if present is None else len(present.consumers)
            if here + self._new_consumers[name] >= limit:
                raise ConsumerBusy("Subscription reached max consumers limit")
        with _held(self._new_consumers, name):
            yield

    @contextmanager
    def subscription(self, name: str) -> Iterator[None]:
        """Let a durable subscription be created. Raises LimitReached."""
        limit = self.policies.subscriptions_per_topic_max
        if limit:
            durable = {one.name for one in self._subscriptions.values() if one.durable}
            names = durable | self._new_subscriptions.keys()
            if name not in names and len(names) >= limit:
                raise LimitReached(
                    f"Exceed the maximum number of subscriptions of the topic: {self._topic}"
                )
        with _held(self._new_subscriptions, name):
            yield

    def check_first_use(self, *, by_producer: bool = False) -> None:
        """Whether a client makes a durable subscription by using it.

        Raises SubscriptionNotFound, or NotAllowed to a producer that needs one.
        """
        auto = self.policies.auto_subscription_creation
        if auto is not None and auto.allowed:
            return
        if by_producer:
            raise NotAllowed(
                "Could not create the initial subscription due to the auto subscription creation "
                "is not allowed."
            )
        raise SubscriptionNotFound("Subscription does not exist")


@contextmanager
def _held(places: Counter[str], name: str) -> Iterator[None]:
    """Count one more of this name until the block ends."""
    places[name] += 1
    try:
        yield
    finally:
        places[name] -= 1
        if not places[name]:
            del places[name]
