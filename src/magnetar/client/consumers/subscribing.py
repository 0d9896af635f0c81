"""The subscription that a consumer makes on one topic, and the command that makes it. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from magnetar.client.consumers.config import ConsumerConfig
from magnetar.model.names import TopicName
from magnetar.model.position import LATEST
from magnetar.model.subscriptions import InitialPosition
from magnetar.schemas.schema import Schema
from magnetar.wire import requests

from .dead_letters import DeadLetterSetup
from .read_position import Start, entry_of


@dataclass(frozen=True, slots=True)
class Subscribing:
    """The subscription to make. ``start`` is set for one that is not durable."""

    topic: TopicName
    subscription: str
    consumer_name: str
    receiver_queue_size: int
    start: Start | None
    schema: Schema[Any] | None = None
    letters: DeadLetterSetup | None = None
    holder: Callable[[], Any] | None = None
    """Returns what the application receives by, or None any more: it does not hold it."""

    def command(
        self,
        consumer_id: int,
        request_id: int,
        config: ConsumerConfig,
        *,
        start: Start | None,
        epoch: int,
    ) -> bytes:
        """The command, also for a reconnection: ``start`` is where it goes on then."""
        initial_position = config.initial_position
        if start is not None and start.message_id.position == LATEST:
            # Pulsar goes by this, and not by the id, where the id is that of the end.
            initial_position = InitialPosition.LATEST
        return requests.subscribe(
            consumer_id,
            request_id,
            str(self.topic),
            self.subscription,
            config.type,
            durable=self.start is None,
            consumer_name=self.consumer_name,
            start=None if start is None else entry_of(start),
            initial_position=initial_position,
            force_topic_creation=config.create_topic,
            priority_level=config.priority_level,
            metadata=config.properties,
            subscription_properties=config.subscription_properties,
            consumer_epoch=epoch or None,
            read_compacted=config.read_compacted,
            key_shared_policy=config.key_shared_policy,
            replicate_state=config.replicate_subscription_state or None,
            schema=None if self.schema is None else self.schema.info,
        )
