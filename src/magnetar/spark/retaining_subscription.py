"""A subscription that follows a query, so that the broker keeps what the query has not read."""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeVar

from magnetar.client import blocking
from magnetar.errors import ConsumerBusy, MagnetarError, TimedOut, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.position import MessageId
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.spark.offsets import Offset

T = TypeVar("T")

_BUSY_RETRY_S = 0.1
LEDGER_KEPT_S: Final = 60.0
"""How long a ledger is kept that the query has left: as long as consumers wait for a message's
chunks. Whole ledgers are trimmed, and what ends in the next one may begin there."""


class RetainingSubscription:
    """One durable subscription per partition. Nothing is ever read through it.

    It is kept one entry behind the query: the message that was read last has to stay, as the next
    read proves by it that nothing is missing (``range_read.py``).
    """

    def __init__(
        self,
        client: blocking.Client,
        subscription: str,
        *,
        busy_timeout_s: float = 0.0,
        topics_may_go: bool = False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """``busy_timeout_s``: how long one may wait for a planner that is on its way out.

        With ``topics_may_go`` one that was deleted is no error: there is nothing left to keep.
        """
        self._client = client
        self.name = subscription
        self._busy_timeout_s = busy_timeout_s
        self._consumers: dict[str, blocking.Consumer] = {}
        self._topics_may_go = topics_may_go
        self._now = now
        self._moved_to: dict[str, Offset] = {}
        self._left_at: dict[str, float] = {}  # When the query left the ledger moved to.

    def hold(self, topics: Iterable[str]) -> None:
        """Keep what comes in ``topics`` from now on, and what is there. Raises as ``move``."""
        for topic in topics:
            self._hold(topic, needed=not self._topics_may_go)

    def last_message_ids(self, topics: Iterable[str]) -> dict[str, MessageId | None]:
        """Where those of ``topics`` end that are held. Raises TimedOut.

        A subscription that is over, as a deleted topic's is, is held no longer: ``hold`` makes it
        anew, or says why not.
        """
        return self._answers(set(topics), blocking.Consumer.last_message_id)

    def backlog(self) -> dict[str, int]:
        """How many entries of each topic the broker keeps for the query. As above."""
        return self._answers(set(self._consumers), blocking.Consumer.backlog)

    def _answers(
        self, topics: Collection[str], ask: Callable[[blocking.Consumer], T]
    ) -> dict[str, T]:
        found = {}
        for topic, consumer in list(self._consumers.items()):
            if topic in topics:
                try:
                    found[topic] = ask(consumer)
                except TimedOut:
                    raise
                except MagnetarError:
                    self._consumers.pop(topic).close()
                    self._moved_to.pop(topic, None)
                    self._left_at.pop(topic, None)
        return found

    def move(self, offsets: Mapping[str, Offset]) -> None:
        """Let the broker delete what lies before ``offsets``.

        Raises ConsumerBusy when others use the name, TopicNotFound when a topic was deleted.
        """
        for topic, offset in offsets.items():
            # A partition that nobody has written to yet may not be there: see ``topics.py``.
            consumer = self._hold(topic, needed=offset.names_a_message and not self._topics_may_go)
            if consumer is not None and offset.entry_id > 0 and self._may_move(topic, offset):
                partition = TopicName.parse(topic).partition_index
                consumer.acknowledge_cumulative(
                    MessageId(offset.ledger_id, offset.entry_id - 1, partition)
                )
                consumer.flush()
                self._moved_to[topic] = offset
                self._left_at.pop(topic, None)

    def _may_move(self, topic: str, offset: Offset) -> bool:
        former = self._moved_to.get(topic)
        if former is None or former.ledger_id == offset.ledger_id:
            return former != offset
        now = self._now()
        return now - self._left_at.setdefault(topic, now) >= LEDGER_KEPT_S

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

    def _hold(self, topic: str, *, needed: bool) -> blocking.Consumer | None:
        if topic not in self._consumers:
            try:
                self._consumers[topic] = self._subscribe(topic)
            except TopicNotFound:
                if needed:
                    raise
        return self._consumers.get(topic)

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
