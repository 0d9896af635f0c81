"""Replays the flights as messages: the key is the carrier, the event time the departure."""

from magnetar.client import blocking
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.model.names import TopicName
from magnetar.spark.offsets import NOTHING_READ, Offset
from quickstart.board import Stage
from quickstart.flights import Flight, content, event_times_ms
from quickstart.thread_group import ThreadGroup

SLICE = 5_000
"""So many messages are handed to the producer at a time; progress is shown after each time."""


def to_messages(flights: list[Flight]) -> list[OutgoingMessage]:
    """One message per flight, in the same order."""
    return [
        OutgoingMessage(content(flight), key=flight.carrier, event_time_ms=event_time_ms)
        for flight, event_time_ms in zip(flights, event_times_ms(flights), strict=True)
    ]


def publish(
    client: blocking.Client,
    topic: TopicName,
    messages: list[OutgoingMessage],
    stage: Stage,
    threads: ThreadGroup,
) -> dict[str, Offset]:
    """Send them all, counting receipts. Returns where each partition ends now."""
    ends: dict[int, Offset] = {}
    with client.create_producer(str(topic)) as producer:
        for start in range(0, len(messages), SLICE):
            threads.check()
            receipts = producer.send_many(messages[start : start + SLICE])
            for one in receipts:
                offset = Offset(one.ledger_id, one.entry_id, one.batch_index)
                ends[one.partition] = max(offset, ends.get(one.partition, NOTHING_READ))
            stage.count += len(receipts)
    return {
        str(topic if partition < 0 else topic.partition(partition)): end
        for partition, end in ends.items()
    }
