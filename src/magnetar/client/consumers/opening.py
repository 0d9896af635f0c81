"""Opens a consumer or reader: of one topic, of a list of them, or of a pattern."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from magnetar.checks import check_instance
from magnetar.client.context import ClientContext
from magnetar.client.stats_reports import report
from magnetar.errors import InvalidValue
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST, EARLIEST_MESSAGE, LATEST, LATEST_MESSAGE, MessageId
from magnetar.model.subscriptions import InitialPosition
from magnetar.schemas.schema import Schema

from .config import ConsumerConfig
from .dead_letters import DeadLetterSetup
from .read_position import Start
from .received_topics import ReceivedTopics
from .receiver import Receiver
from .topic_discovery import PatternDiscovery, add_missing
from .topic_set import TopicSet
from .topics_pattern import TopicsPattern

NAME_SIZE: Final = 5  # Random bytes in a name that the client makes up: ten hex digits.

R = TypeVar("R", bound=Receiver[Any])


async def open_receiver(
    context: ClientContext,
    kind: type[R],
    topics: TopicName | Sequence[TopicName] | TopicsPattern,
    subscription: str,
    config: ConsumerConfig,
    *,
    closed: Callable[[Receiver[Any]], None],
    schema: Schema[Any] | None = None,
    start: Callable[[TopicName], Start] | None = None,
    letters: DeadLetterSetup | None = None,
) -> R:
    """Attach a consumer or reader to its topics. Raises the broker's error or TimedOut.

    ``start`` says where a reader begins on a topic or partition; without it the subscription is
    durable. ``letters`` may name a retry topic, which is received from, too.
    """
    if isinstance(topics, TopicsPattern):
        config = replace(config, create_topic=False)
    text = _text(topics)
    received = ReceivedTopics(
        text, config.name or made_up_name(), context.clock, paused=config.start_paused
    )
    receiver = kind(
        text,
        received,
        subscription,
        config.type,
        refuses_listener_errors=config.negative_ack_listener_errors,
        interceptors=config.interceptors,
        closed=closed,
    )
    several = not isinstance(topics, TopicName)
    topic_set = TopicSet(
        context,
        received,
        subscription,
        config,
        schema=schema,
        start=start,
        letters=letters,
        several=several,
    )
    retry = [] if letters is None or letters.rules.retry is None else [letters.rules.retry]
    if isinstance(topics, TopicsPattern):
        left_out = None if letters is None else letters.rules.is_dead_letter_topic
        discovery = PatternDiscovery(topics, context, config.topics_refresh_s, left_out)
        await topic_set.open(await discovery.find(), config)
        received.tasks.spawn("topics", discovery.follow(topic_set))
    elif isinstance(topics, TopicName):
        await topic_set.open([topics, *retry], config)
    else:
        topics = list(dict.fromkeys([*topics, *retry]))
        await topic_set.open(topics, config)
        if config.topics_refresh_s:
            received.tasks.spawn(
                "topics", add_missing(topics, topic_set, context, config.topics_refresh_s)
            )
    if context.config.stats_interval_s:
        who = f"consumer.stats topic={receiver.topic} subscription={subscription}"
        received.tasks.spawn(
            "stats",
            report(
                received.statistics.end_interval,
                who,
                clock=context.clock,
                interval_s=context.config.stats_interval_s,
            ),
        )
    return receiver


def start_on(
    start: MessageId | Mapping[int, MessageId] | Mapping[str, MessageId], *, inclusive: bool
) -> Callable[[TopicName], Start]:
    """Where a reader begins, by topic or partition. Raises InvalidValue, also when called."""
    check_instance("start", start, MessageId, Mapping)
    if isinstance(start, MessageId):
        return partial(_start_at, start=start, inclusive=inclusive)
    places: dict[int | str, MessageId] = {
        key if isinstance(key, int) else str(TopicName.parse(key)): place
        for key, place in start.items()
    }
    for key, place in places.items():
        check_instance(f"start[{key!a}]", place, MessageId)

    def find(topic: TopicName) -> Start:
        place = places.get(str(topic), places.get(topic.partition_index, EARLIEST_MESSAGE))
        return Start(place, inclusive=inclusive)

    return find


def start_of(config: ConsumerConfig) -> Callable[[TopicName], Start] | None:
    """The start of a consumer whose subscription is not durable."""
    if config.durable:
        return None
    earliest = config.initial_position is InitialPosition.EARLIEST
    return start_on(EARLIEST_MESSAGE if earliest else LATEST_MESSAGE, inclusive=False)


def _start_at(topic: TopicName, *, start: MessageId, inclusive: bool) -> Start:
    if start.position not in (EARLIEST, LATEST) and topic.partition_index != start.partition:
        raise InvalidValue(
            f"{start} is a place in one partition, not in {topic}: give a start for each partition"
        )
    return Start(start, inclusive=inclusive)


def made_up_name() -> str:
    return secrets.token_hex(NAME_SIZE)


def _text(topics: TopicName | Sequence[TopicName] | TopicsPattern) -> str:
    if isinstance(topics, TopicsPattern):
        return topics.text
    return ",".join(map(str, [topics] if isinstance(topics, TopicName) else topics))
