"""A subscription that follows a query, so that the broker keeps what the query has not read."""

from collections.abc import Mapping

from magnetar.client import blocking
from magnetar.errors import ConsumerBusy, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.position import MessageId
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.spark.offsets import Offset


class RetainingSubscription:
    """One durable subscription per partition. Nothing is ever read through it.

    It is kept one entry behind the query: the message that was read last has to stay, as the next
    read proves by it that nothing is missing (``range_read.py``).
    """

    def __init__(self, client: blocking.Client, subscription: str) -> None:
        self._client = client
        self._subscription = subscription
        self._consumers: dict[str, blocking.Consumer] = {}

    def move(self, offsets: Mapping[str, Offset]) -> None:
        """Let the broker delete what lies before ``offsets``.

        Raises ConsumerBusy when others use the name, TopicNotFound when a topic was deleted.
        """
        for topic, offset in offsets.items():
            consumer = self._consumers.get(topic)
            if consumer is None:
                try:
                    consumer = self._consumers[topic] = self._subscribe(topic)
                except TopicNotFound:
                    if offset.names_a_message:
                        raise
                    continue  # A partition that nobody has written to yet: see ``topics.py``.
            if offset.entry_id > 0:
                partition = TopicName.parse(topic).partition_index
                consumer.acknowledge_cumulative(
                    MessageId(offset.ledger_id, offset.entry_id - 1, partition)
                )
        for consumer in self._consumers.values():
            consumer.flush()

    def close(self) -> None:
        """Disconnect. The subscription stays, and with it what was not read."""
        for consumer in self._consumers.values():
            consumer.close()
        self._consumers.clear()

    def _subscribe(self, topic: str) -> blocking.Consumer:
        try:
            return self._client.subscribe(
                topic,
                self._subscription,
                type=SubscriptionType.EXCLUSIVE,
                initial_position=InitialPosition.EARLIEST,
                receiver_queue_size=1,
                create_topic=False,
            )
        except ConsumerBusy as error:
            raise ConsumerBusy(
                f"subscription {self._subscription} of {topic} is in use: give each query a "
                f"subscription of its own ({error})"
            ) from error
