"""Replays the flights as messages: key the carrier, event time the scheduled departure."""

from magnetar.client import blocking
from magnetar.client.message import OutgoingMessage
from magnetar.model.names import TopicName
from magnetar.spark.offsets import NOTHING_READ, Offset
from magnetar.tools.quickstart.board import Stage
from magnetar.tools.quickstart.crew import Crew
from magnetar.tools.quickstart.flights import Flight, content, event_times_ms

SLICE = 5_000
"""Messages handed to the producer at a time, and shown as progress."""


def to_messages(flights: list[Flight]) -> list[OutgoingMessage]:
    """One message per flight, in the same order."""
    return [
        OutgoingMessage(data=content(flight), key=flight.carrier, event_time_ms=event_time_ms)
        for flight, event_time_ms in zip(flights, event_times_ms(flights), strict=True)
    ]


def publish(
    client: blocking.Client,
    topic: TopicName,
    messages: list[OutgoingMessage],
    stage: Stage,
    crew: Crew,
) -> dict[str, Offset]:
    """Send them all, counting receipts. Returns where each partition ends now."""
    ends: dict[int, Offset] = {}
    with client.create_producer(str(topic)) as producer:
        for start in range(0, len(messages), SLICE):
            crew.pause(0)
            receipts = producer.send_many(messages[start : start + SLICE])
            for one in receipts:
                offset = Offset(one.ledger_id, one.entry_id, one.batch_index)
                ends[one.partition] = max(offset, ends.get(one.partition, NOTHING_READ))
            stage.count += len(receipts)
    return {
        str(topic if partition < 0 else topic.partition(partition)): end
        for partition, end in ends.items()
    }
