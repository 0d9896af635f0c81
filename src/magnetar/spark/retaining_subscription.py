"""A subscription that follows a query, so that the broker keeps what the query has not read."""

import threading
from collections.abc import Iterable, Mapping

from magnetar.client import blocking
from magnetar.errors import ConsumerBusy, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.position import MessageId
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.spark.offsets import Offset

_BUSY_RETRY_S = 0.1


class RetainingSubscription:
    """One durable subscription per partition. Nothing is ever read through it.

    It is kept one entry behind the query: the message that was read last has to stay, as the next
    read proves by it that nothing is missing (``range_read.py``).
    """

    def __init__(
        self, client: blocking.Client, subscription: str, *, busy_timeout_s: float = 0.0
    ) -> None:
        """``busy_timeout_s``: how long one may wait for a planner that is on its way out."""
        self._client = client
        self.name = subscription
        self._busy_timeout_s = busy_timeout_s
        self._consumers: dict[str, blocking.Consumer] = {}
        self._moved_to: dict[str, Offset] = {}

    def hold(self, topics: Iterable[str]) -> None:
        """Keep what comes in ``topics`` from now on, and what is there. Raises as ``move``."""
        for topic in topics:
            if topic not in self._consumers:
                self._consumers[topic] = self._subscribe(topic)

    def move(self, offsets: Mapping[str, Offset]) -> None:
        """Let the broker delete what lies before ``offsets``.

        Raises ConsumerBusy when others use the name, TopicNotFound when a topic was deleted.
        """
        for topic, offset in offsets.items():
            try:
                self.hold([topic])
            except TopicNotFound:
                if offset.names_a_message:
                    raise
                continue  # A partition that nobody has written to yet: see ``topics.py``.
            if offset.entry_id > 0 and self._moved_to.get(topic) != offset:
                partition = TopicName.parse(topic).partition_index
                consumer = self._consumers[topic]
                consumer.acknowledge_cumulative(
                    MessageId(offset.ledger_id, offset.entry_id - 1, partition)
                )
                consumer.flush()
                self._moved_to[topic] = offset

    def close(self) -> None:
        """Disconnect. The subscription stays, and with it what was not read."""
        for consumer in self._consumers.values():
            consumer.close()
        self._consumers.clear()

    def remove(self) -> None:
        """Delete the subscription: what was not read may be trimmed."""
        for consumer in self._consumers.values():
            consumer.unsubscribe()
        self._consumers.clear()

    def _subscribe(self, topic: str) -> blocking.Consumer:
        tries = int(self._busy_timeout_s / _BUSY_RETRY_S)
        while True:
            try:
                return self._client.subscribe(
                    topic,
                    self.name,
                    type=SubscriptionType.EXCLUSIVE,
                    initial_position=InitialPosition.EARLIEST,
                    receiver_queue_size=1,
                    create_topic=False,
                )
            except ConsumerBusy as error:
                if tries <= 0:
                    raise ConsumerBusy(
                        f"subscription {self.name} of {topic} is in use: give each query a "
                        f"subscription of its own, and a checkpoint of its own ({error})"
                    ) from error
            tries -= 1
            threading.Event().wait(_BUSY_RETRY_S)  # A planner has nothing else to do.
