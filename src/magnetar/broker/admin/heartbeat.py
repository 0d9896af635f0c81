"""A message through the topic that a broker of a cluster has for itself, as Pulsar's brokers do.

It is ``persistent://pulsar/{host:port}/healthcheck``, which no other broker serves.
"""

from typing import Final

from magnetar.broker.admin.messages.outgoing import Outgoing
from magnetar.broker.cluster.publishing import publish_to
from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.clock import Clock
from magnetar.errors import MagnetarError, StorageError
from magnetar.model.system_topics import heartbeat

_READ_BYTES: Final = 1 << 20
_MESSAGE: Final = Outgoing(
    payload=b"health",
    key=None,
    key_b64=False,
    ordering_key=None,
    properties={},
    event_time_ms=None,
    deliver_at_ms=None,
    sequence_id=None,
    null_value=False,
)


class Heartbeat:
    """Publishes, and reads what it has published."""

    def __init__(self, broker: str, topics: TopicRegistry, clock: Clock) -> None:
        self._topic = heartbeat(broker)
        self._topics = topics
        self._clock = clock

    async def beat(self) -> None:
        """Raises what keeps the message from being stored, or read."""
        topic = await self._topics.create(self._topic)
        (outcome,) = await publish_to(topic, self._clock, [(_MESSAGE, None)])
        if isinstance(outcome, MagnetarError):
            raise outcome
        assert topic.stored is not None and outcome is not None, "it is persistent, and unnumbered"  # noqa: PT018
        run = await topic.stored.log.read(outcome, 1, _READ_BYTES)
        if run is None:
            raise StorageError(f"{self._topic}: what was published at {outcome} cannot be read")
