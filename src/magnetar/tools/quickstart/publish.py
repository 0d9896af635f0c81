"""Replays the flights as messages: key the carrier, event time the scheduled departure."""

import threading
from collections.abc import Iterator

from magnetar.client import blocking
from magnetar.client.message import OutgoingMessage
from magnetar.model.names import TopicName
from magnetar.spark.offsets import Offset
from magnetar.tools.quickstart.board import Stage
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
    stopping: threading.Event,
) -> dict[str, Offset]:
    """Send them all, counting receipts. Returns where each partition ends now."""
    ends: dict[str, Offset] = {}
    producer = client.create_producer(str(topic))
    try:
        for part in _slices(messages):
            if stopping.is_set():
                break
            for receipt in producer.send_many(part):
                name = str(topic if receipt.partition < 0 else topic.partition(receipt.partition))
                offset = Offset(receipt.ledger_id, receipt.entry_id, receipt.batch_index)
                if name not in ends or offset > ends[name]:
                    ends[name] = offset
                stage.count += 1
    finally:
        producer.close()
    return ends


def _slices(messages: list[OutgoingMessage]) -> Iterator[list[OutgoingMessage]]:
    for start in range(0, len(messages), SLICE):
        yield messages[start : start + SLICE]
