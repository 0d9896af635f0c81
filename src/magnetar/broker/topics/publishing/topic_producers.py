"""The producers attached to one topic."""

from collections.abc import Callable

from magnetar.broker.topics.publishing.producer import Producer
from magnetar.broker.topics.publishing.producer_access import (
    ProducerAccess,
    ProducerRequest,
    TopicProperties,
)
from magnetar.broker.topics.topic_state import TopicState
from magnetar.message.send_run import SendRun
from magnetar.model.broker_address import BrokerAddress


class TopicProducers:
    """The attached producers, by name, and what is still counted of detached ones."""

    __slots__ = ("_access", "_kept", "_state", "attached", "detached_chunk_count", "held_since_ms")

    def __init__(self, state: TopicState, kept: TopicProperties) -> None:
        self.attached: dict[str, Producer] = {}
        self.detached_chunk_count = 0
        """Chunks from producers that have left."""
        self.held_since_ms = 0
        """Since when a backlog quota has held producers back; 0: none does."""
        self._state = state
        self._kept = kept
        self._access: ProducerAccess | None = None  # Nobody ever came.

    @property
    def waiting(self) -> int:
        """Producers that wait until they may have the topic for themselves."""
        return 0 if self._access is None else self._access.waiting

    @property
    def access(self) -> ProducerAccess:
        if self._access is None:
            self._access = ProducerAccess(self._state.name, self._kept, self.attached)
        return self._access

    def attach(
        self, request: ProducerRequest, publish: Callable[[Producer, SendRun], None]
    ) -> Producer:
        """Attach one that ``access`` has admitted."""
        clusters = self._state.context.clusters
        producer = self.attached[request.name] = request.producer(
            publish=publish,
            detach=self._detach,
            connected_at_ms=self._state.clock.wall_ms(),
            topic_epoch=self.access.epoch,
            policies=self._state.policies,
            entry_size_max=self._state.entry_size_max,
            replicates=clusters is not None and clusters.cluster_of(request.name) is not None,
        )
        return producer

    def disconnect(self, to: BrokerAddress | None = None) -> None:
        """Detach all producers and tell them; waiting ones look the topic up again."""
        if self._access is not None:
            self._access.close()
        self.disconnect_attached(to)

    def disconnect_attached(self, to: BrokerAddress | None = None) -> None:
        """Detach the attached producers only: they may come back, and are admitted or refused."""
        for producer in list(self.attached.values()):
            producer.detach()
            producer.connection.close_producer(producer.producer_id, to)

    def _detach(self, producer: Producer) -> None:
        if self.attached.get(producer.name) is producer:
            del self.attached[producer.name]
            if not self.attached:
                self.attached.clear()  # A dict keeps the room it had until it is cleared.
            self.detached_chunk_count += producer.chunk_count
            if self._access is not None:
                self._access.detached(producer)
