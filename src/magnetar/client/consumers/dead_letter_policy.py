"""Letters: messages that a consumer sends to another topic, to come later or not at all. Pure.

A retry letter comes again from the retry topic, after its delay. A dead letter is a message that
came too often. Topics and properties have the names that Pulsar's clients give them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from magnetar.checks import check_text, copy_properties, whole_number
from magnetar.client.message import Message
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import InvalidValue
from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaInfo
from magnetar.schemas.primitives import BytesSchema

RETRIES_MAX: Final = 16
"""Retries of a message where no policy says how many."""

TIMES: Final = "RECONSUMETIMES"  # How often the message was sent to come later.
DELAY_MS: Final = "DELAY_TIME"
TOPIC: Final = "REAL_TOPIC"  # Where it was published.
ORIGIN: Final = "ORIGIN_MESSAGE_ID"


@dataclass(frozen=True, slots=True)
class DeadLetterPolicy:
    """What becomes of messages that come too often. Raises InvalidValue."""

    max_redeliver_count: int  # A message that would come again after so many redeliveries is dead.
    dead_letter_topic: str | None = None  # None: ``<topic>-<subscription>-DLQ``.
    retry_letter_topic: str | None = None  # None: ``<topic>-<subscription>-RETRY``.
    initial_subscription_name: str | None = None  # Made with the dead letter topic, to keep them.
    producer_options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of ``create_producer``, for the producers of letters: encryption, say."""

    def __post_init__(self) -> None:
        if not whole_number("max_redeliver_count", self.max_redeliver_count):
            raise InvalidValue("max_redeliver_count is 0; it must be at least 1")
        for name in ("dead_letter_topic", "retry_letter_topic", "initial_subscription_name"):
            if getattr(self, name) is not None:
                check_text(name, getattr(self, name))
        object.__setattr__(self, "producer_options", dict(self.producer_options))


@dataclass(frozen=True, slots=True)
class DeadLetterRules:
    """Which messages become letters, and where these go."""

    count_max: int  # Redeliveries, or retries, beyond which a message is dead.
    subscription: str
    dead: TopicName | None  # None: a topic beside that of the message.
    retry: TopicName | None  # None: nothing can be sent to come later.
    initial_subscription: str | None
    encrypting: bool  # The producers of letters encrypt.

    def is_dead_letter_topic(self, topic: TopicName) -> bool:
        """Whether dead letters of this subscription may be there, which must not come back."""
        return topic == self.dead or topic.local.endswith(f"-{self.subscription}-DLQ")

    def dead_letter_topic(self, topic: TopicName) -> TopicName:
        return self.dead or _beside(topic, self.subscription, "DLQ")


def dead_letter_rules(
    policy: DeadLetterPolicy | None,
    names: Sequence[TopicName],
    subscription: str,
    *,
    enable_retry: bool,
) -> DeadLetterRules | None:
    """Return what a consumer of these topics, or of a pattern, does; None: it sends no letters.

    Raises InvalidName, InvalidValue.
    """
    if policy is None:
        if not enable_retry:
            return None
        policy = DeadLetterPolicy(RETRIES_MAX)
    for name in names:
        if not name.persistent:
            raise InvalidValue(
                f"{name} keeps no messages, so that none comes again: leave dead_letter_policy "
                "and enable_retry out"
            )
    dead = None if policy.dead_letter_topic is None else TopicName.parse(policy.dead_letter_topic)
    retry = None
    if enable_retry and not names:
        raise InvalidValue("enable_retry is for topics that are named, not for a pattern of them")
    if enable_retry:  # Then both are named after the first topic, as by Pulsar's client.
        retry = _beside(names[0], subscription, "RETRY")
        if policy.retry_letter_topic is not None:
            retry = TopicName.parse(policy.retry_letter_topic)
        dead = dead or _beside(names[0], subscription, "DLQ")
    return DeadLetterRules(
        policy.max_redeliver_count,
        subscription,
        dead,
        retry,
        policy.initial_subscription_name,
        encrypting=bool(policy.producer_options.get("encryption_keys")),
    )


def dead_letter(message: Message[Any]) -> OutgoingMessage:
    """Return the letter for a message that came too often."""
    return _letter(message, _origin(message))


def retry_letter(
    message: Message[Any], delay_s: float, properties: Mapping[str, str] | None
) -> tuple[OutgoingMessage, int]:
    """Return the letter for a message that shall come later, and how often it was sent so by then.

    ``properties`` are added to its own. Raises InvalidValue.
    """
    told = _origin(message)
    if properties is not None:
        told |= copy_properties("properties", properties)
    before = told.get(TIMES, "")
    times = int(before) + 1 if before.isascii() and before.isdecimal() else 1
    told |= {TIMES: str(times), DELAY_MS: str(round(delay_s * 1000))}
    return _letter(message, told), times


class PassedOn(BytesSchema):
    """A schema of which the payloads are encoded already."""

    def __init__(self, info: SchemaInfo) -> None:
        self.info = info


def _letter(message: Message[Any], properties: Mapping[str, str]) -> OutgoingMessage:
    return OutgoingMessage(
        message.data,
        key=message.key_as_sent,
        ordering_key=message.ordering_key,
        properties=properties,
        event_time_ms=message.event_time_ms,
        null_value=message.null_value,
    )


def _origin(message: Message[Any]) -> dict[str, str]:
    """The message's properties, and where it comes from, unless they tell it."""
    topic = TopicName.parse(message.topic).partitioned_name
    return {TOPIC: str(topic), ORIGIN: str(message.message_id), **message.properties}


def _beside(topic: TopicName, subscription: str, kind: str) -> TopicName:
    return TopicName.parse(f"{topic.partitioned_name}-{subscription}-{kind}")
