"""What the planner asks the broker: which partitions there are, and where each one ends."""

import re
from collections.abc import Iterable

from magnetar.client import blocking
from magnetar.errors import TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.position import LATEST_MESSAGE
from magnetar.spark.offsets import Offset
from magnetar.spark.options import ReadOptions

_PLANNING_QUEUE = 1
"""A planner's reader is there to be asked, not to receive."""


def partitions(client: blocking.Client, options: ReadOptions) -> list[str]:
    """The full names of what is to be read: partitions, and topics without partitions.

    A topic that does not exist is created where the broker does so for any reader.
    """
    if options.topics_pattern is not None:
        return _matching(client, options.topics_pattern)
    names = []
    for topic in options.topics:
        name = TopicName.parse(topic)
        count = _partition_count(client, topic)
        names += [str(name.partition(index)) for index in range(count)] or [topic]
    return names


def last_offsets(client: blocking.Client, names: Iterable[str]) -> dict[str, Offset | None]:
    """The last message of each partition, None where there is none.

    Each question is a reader at the end that is closed again, so that the planner never holds
    back the trimming of a topic.
    """
    return {name: _last_offset(client, name) for name in names}


def _partition_count(client: blocking.Client, topic: str) -> int:
    """0 too for a topic that is not there yet: a query may be started before its first producer."""
    try:
        return client.partitions(topic)
    except TopicNotFound:
        return 0


def _matching(client: blocking.Client, pattern: str) -> list[str]:
    expression = re.compile(pattern)
    topics = client.topics(str(TopicName.parse(pattern).namespace))
    return [
        topic
        for topic in topics
        if expression.fullmatch(str(TopicName.parse(topic).partitioned_name))
    ]


def _last_offset(client: blocking.Client, name: str) -> Offset | None:
    reader = client.create_reader(name, LATEST_MESSAGE, receiver_queue_size=_PLANNING_QUEUE)
    try:
        last = reader.last_message_id()
    finally:
        reader.close()
    if last is None or last.entry_id < 0:
        return None
    return Offset(last.ledger_id, last.entry_id, last.batch_index)
