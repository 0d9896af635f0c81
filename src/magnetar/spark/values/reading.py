"""What reads typed values asks of brokers: schemas by version, and a place for bad messages."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from magnetar.client import blocking
from magnetar.client.consumers.dead_letter_policy import dead_letter
from magnetar.client.message import Message
from magnetar.spark.connections import client_for
from magnetar.spark.read_options import ReadOptions
from magnetar.spark.values.plan import ValuePlan, schema_of
from magnetar.spark.values.rows import ValueRows

log = logging.getLogger(__name__)


@contextmanager
def value_rows(
    plan: ValuePlan, options: ReadOptions, schema: StructType, arrow: pa.Schema
) -> Iterator[ValueRows]:
    """What makes the rows of one task, with the client of this process."""
    client = client_for(options)
    with ExitStack() as closing:
        dead = _DeadLetters(client, options.values.dead_letter_topic, closing)
        fetch = partial(schema_of, client)
        yield ValueRows(plan, options.values, schema, arrow, fetch=fetch, send_dead=dead.send)


class _DeadLetters:
    """Sends messages on as they came, with where that was, as a dead letter policy does.

    A task that is run again sends them again.
    """

    def __init__(self, client: blocking.Client, topic: str | None, closing: ExitStack) -> None:
        self._client = client
        self._topic = topic
        self._closing = closing
        self._producer: blocking.Producer | None = None

    def send(self, messages: Sequence[Message[Any]]) -> None:
        """Return when all of them are stored."""
        assert self._topic is not None, "bad messages have a place to go"
        if self._producer is None:
            # Without a schema: they are no values of the one that they were sent with.
            producer = self._client.create_producer(self._topic, chunking=True)
            self._producer = self._closing.enter_context(producer)
            log.warning(
                "spark.dead_letters to=%s first=%s of %s",
                self._topic,
                messages[0].message_id,
                messages[0].topic,
            )
        self._producer.send_many([dead_letter(message) for message in messages])
