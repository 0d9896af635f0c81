"""What the planner asks the broker: which partitions there are, and where each one ends."""

import re
from collections.abc import Iterable
from contextlib import nullcontext, suppress

from magnetar.client import blocking
from magnetar.client.consumers.config import ConsumerCryptoFailureAction
from magnetar.client.message import entries_of
from magnetar.errors import TimedOut, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST_MESSAGE, LATEST_MESSAGE, MessageId
from magnetar.spark.offsets import Offset
from magnetar.spark.planning import Range, cut, times_between
from magnetar.spark.read_options import ReadOptions

_PLANNING_QUEUE = 1
"""A planner's reader is there to be asked, not to receive."""
_LAST_MESSAGE_WAIT_S = 5.0


def partitions(client: blocking.Client, options: ReadOptions) -> list[str]:
    """The full names of what is to be read: partitions, and topics without partitions.

    Creates nothing. Raises TopicNotFound with all names that do not exist. A pattern finds what
    matches, which may be nothing: a stream reads topics from the moment they appear.
    """
    if options.topics_pattern is not None:
        return _matching(client, options.topics_pattern)
    names = []
    missing = []
    for topic in options.topics:
        name = TopicName.parse(topic)
        try:
            count = client.partitions(topic)
        except TopicNotFound:
            missing.append(topic)
            continue
        names += [str(name.partition(index)) for index in range(count)] or [topic]
    if missing:
        raise _not_found(missing)
    return names


def asked_for(name: str, options: ReadOptions) -> bool:
    """Whether a topic, or a partition, is one of those that the options name."""
    whole = str(TopicName.parse(name).partitioned_name)
    if options.topics_pattern is not None:
        return re.fullmatch(options.topics_pattern, whole) is not None
    return name in options.topics or whole in options.topics


def last_offsets(
    client: blocking.Client, names: Iterable[str], *, needed: bool = True
) -> dict[str, Offset | None]:
    """The last message of each partition, None where there is none.

    Each question is a reader at the end that is closed again, so that the planner never holds
    back the trimming of a topic. What does not exist raises TopicNotFound, or is left out unless
    ``needed``: Apache Pulsar lists topics for a while after they were deleted.
    """
    found = {}
    for name in names:
        with nullcontext() if needed else suppress(TopicNotFound):
            found[name] = _last_offset(client, name)
    return found


def offset_of(last: MessageId | None) -> Offset | None:
    """The offset of a topic's last message, None where there is none."""
    if last is None or last.entry_id < 0:
        return None
    return Offset(last.ledger_id, last.entry_id, last.batch_index)


def entries_between(client: blocking.Client, name: str, end: Offset, last: Offset) -> int:
    """How many entries lie behind that of one message, up to and with that of another."""
    if end.ledger_id == last.ledger_id:
        return last.entry_id - end.entry_id
    start = Range(name, end, last).start_id
    with client.create_reader(
        name, start, inclusive=True, start_paused=True, create_topic=False
    ) as reader:
        return max(reader.backlog() - (not end.is_place), 0)


class PublishTimes:
    """Where in a partition a publish time is: places before messages.

    The broker seeks by its own rule: messages that carry an earlier time than one before them are
    taken to be in order.
    """

    def __init__(self, client: blocking.Client, timeout_s: float) -> None:
        self._client = client
        self._timeout_s = timeout_s

    def before(self, name: str, time_ms: int) -> Offset | None:
        """Everything published before a time, milliseconds since the epoch; None: all there is."""
        with reader_at(self._client, name, EARLIEST_MESSAGE) as reader:
            return self._before(reader, time_ms)

    def cut(self, wanted: Range, count: int) -> list[Range]:
        """The range in up to ``count`` pieces, each published in as long a time."""
        with reader_at(self._client, wanted.topic, wanted.start_id) as reader:
            try:
                first_ms = reader.receive(self._timeout_s).publish_time_ms
                with reader_at(self._client, wanted.topic, wanted.end_id) as at_end:
                    last_ms = at_end.receive(_LAST_MESSAGE_WAIT_S).publish_time_ms
            except TimedOut:
                return [wanted]
            times_ms = times_between(first_ms, last_ms, count)
            places = [self._before(reader, time_ms) for time_ms in times_ms]
        return cut(wanted, filter(None, places))

    def _before(self, reader: blocking.Reader, time_ms: int) -> Offset | None:
        reader.seek_time(time_ms)
        if not reader.has_message_available():
            return None
        first = reader.receive(self._timeout_s)
        return Offset.before(entries_of(first)[0])


def reader_at(client: blocking.Client, name: str, start: MessageId) -> blocking.Reader:
    """A reader that is asked where messages are, and not for what they hold."""
    return client.create_reader(
        name,
        start,
        inclusive=True,
        receiver_queue_size=_PLANNING_QUEUE,
        create_topic=False,
        join_chunks=False,
        crypto_failure_action=ConsumerCryptoFailureAction.CONSUME,
    )


def _matching(client: blocking.Client, pattern: str) -> list[str]:
    topics = client.topics(str(TopicName.parse(pattern).namespace))
    return [
        topic
        for topic in topics
        if re.fullmatch(pattern, str(TopicName.parse(topic).partitioned_name))
    ]


def _last_offset(client: blocking.Client, name: str) -> Offset | None:
    try:
        reader = client.create_reader(
            name, LATEST_MESSAGE, receiver_queue_size=_PLANNING_QUEUE, create_topic=False
        )
    except TopicNotFound as error:
        if _is_unwritten_partition(client, TopicName.parse(name)):
            return None
        raise _not_found([name]) from error
    try:
        return offset_of(reader.last_message_id())
    finally:
        reader.close()


def _is_unwritten_partition(client: blocking.Client, name: TopicName) -> bool:
    """Apache Pulsar has topics whose partitions are created one by one, as they are written to."""
    if name.partition_index < 0:
        return False
    try:
        return name.partition_index < client.partitions(str(name.partitioned_name))
    except TopicNotFound:
        return False


def _not_found(names: list[str]) -> TopicNotFound:
    do = "does" if len(names) == 1 else "do"
    return TopicNotFound(
        f"{', '.join(names)} {do} not exist: check the name and service.url, or create it first, "
        "by writing to it or over the admin API; reading creates no topic"
    )
