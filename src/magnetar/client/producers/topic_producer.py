"""One topic's part of a producer: keeps its queue attached, and takes the broker's answers."""

import asyncio
import logging
from collections.abc import Coroutine
from functools import partial
from typing import Any

from magnetar.client.connections.attachment import Attachment
from magnetar.client.connections.connection import Connection, position_of
from magnetar.client.context import ClientContext
from magnetar.client.encryption.data_keys import Encryptor
from magnetar.client.producers.config import ProducerConfig
from magnetar.errors import (
    AlreadyClosed,
    BacklogQuotaExceeded,
    ConnectionLost,
    MagnetarError,
    Refused,
    TopicClosed,
)
from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaInfo
from magnetar.tasks import Closing
from magnetar.wire import requests
from magnetar.wire.errors import from_code
from magnetar.wire.frames import Frame
from magnetar.wire.schemas import version_number

from .encoding import Encoder
from .send_queue import SendQueue

log = logging.getLogger(__name__)


class TopicProducer:
    """One topic's, or one partition's, part of a ``Producer``."""

    queue: SendQueue
    not_stored: int  # How many messages were lost when it was closed.
    why_not: MagnetarError | None

    def __init__(
        self,
        topic: TopicName,
        config: ProducerConfig,
        context: ClientContext,
        *,
        encryptor: Encryptor | None = None,
        schema: SchemaInfo | None = None,
    ) -> None:
        self._topic = str(topic)
        self._id = producer_id = next(context.ids)
        self._config = config
        self._schema = schema
        self._timeout_s = context.config.operation_timeout_s
        self._close_timeout_s = context.config.close_timeout_s
        self.not_stored = 0
        self.why_not: MagnetarError | None = None
        self._name = config.name
        self._epoch = 0
        self._asked: int | None = None  # The request that waits for the broker's answer.
        self._topic_epoch: int | None = None  # As the broker said; of an exclusive producer.
        self._encrypted = encryptor is not None
        self._encoder = Encoder(
            producer_id, config.compression, chunking=config.chunking, encryptor=encryptor
        )
        self.queue = SendQueue(
            self._topic,
            topic.partition_index,
            config,
            self._encoder,
            clock=context.clock,
            write=self._write,
            memory=context.memory,
        )
        self._sends = self.queue.sends
        self._attachment = Attachment(
            self._topic,
            self._attach,
            self._not_attached,
            lookup=context.lookup,
            backoff=context.backoff(),
            clock=context.clock,
            owner=f"producer {producer_id} of {topic}",
        )
        self._close_request = partial(requests.close_producer, producer_id)
        self._closing = Closing(f"producer {producer_id} of {topic}", self._close)

    async def start(self) -> None:
        """Attach for the first time. Raises the broker's error or TimedOut; no trace is left."""
        await self._attachment.start(self._timeout_s)

    @property
    def name(self) -> str:
        return self._name or ""

    @property
    def connected(self) -> bool:
        return self._attachment.connection is not None

    def close(self, timeout_s: float | None = None) -> Coroutine[Any, Any, None]:
        """As ``Producer.close``, but that ``not_stored`` tells what is lost."""
        return self._closing(timeout_s)

    async def _close(self, timeout_s: float | None) -> None:
        timeout_s = self._close_timeout_s if timeout_s is None else timeout_s
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        reason = f"producer {self.name} on {self._topic} is closed"
        closed = AlreadyClosed(reason)
        self.queue.closed = self.queue.closed or closed
        try:
            async with asyncio.timeout(timeout_s):
                await self.queue.settled()
                connection = self._attachment.connection
                if connection is not None:
                    await connection.request(self._close_request, timeout_s)
                    connection.producers.pop(self._id, None)
        except (TimeoutError, MagnetarError) as error:
            log.info("producer.close_incomplete topic=%s error=%r", self._topic, error)
        finally:
            connection = self._attachment.connection
            if connection is not None:
                connection.detach(connection.producers, self._id, self._close_request)
            self.not_stored = self._sends.unreported_messages + self.queue.pending.messages
            self.why_not = self._sends.unreported or self._sends.timed_out(
                f"no receipt from {self._topic} within {timeout_s:g} s of closing"
            )
            self.queue.fail_all(closed)
            await self._attachment.close(reason)

    async def register_schema(self, schema: SchemaInfo) -> int:
        """As ``Producer.register_schema``."""

        async def ask(connection: Connection) -> int:
            answer = await connection.request(
                partial(requests.get_or_create_schema, topic=self._topic, schema=schema),
                self._timeout_s,
            )
            found = answer.command.getOrCreateSchemaResponse
            if found.HasField("error_code"):
                raise from_code(found.error_code, found.error_message)
            return version_number(found.schema_version)

        return await self._attachment.ask(ask, self._timeout_s)

    def on_receipt(self, frame: Frame) -> None:
        receipt = frame.command.send_receipt
        if not self._sends.stored(receipt.sequence_id, position_of(receipt.message_id)):
            self._reconnect(f"receipt for {receipt.sequence_id} is out of order")

    def on_send_error(self, frame: Frame) -> None:
        refusal = frame.command.send_error
        error = from_code(refusal.error, refusal.message)
        if isinstance(error, Refused):
            self._sends.refused(refusal.sequence_id, error)
        else:
            self._refused(error)
            self._reconnect(f"send {refusal.sequence_id} failed: {error}")

    def on_detached(
        self, connection: Connection, error: MagnetarError | None, *, moved: bool = False
    ) -> None:
        if error is None and self._asked is not None:  # It was queued at a broker that detached it.
            connection.fail(self._asked, TopicClosed(f"{self._topic} was closed: it moves"))
        self._sends.trouble = self._sends.trouble or error
        self._attachment.lost(connection, moved=moved)

    async def _attach(self, connection: Connection) -> None:
        epoch, self._epoch = self._epoch, self._epoch + 1
        connection.producers[self._id] = self
        try:
            answer = await connection.request(
                partial(self._request, epoch), self._timeout_s, self._attachment.in_line
            )
        except BaseException:
            connection.detach(connection.producers, self._id, self._close_request)
            raise
        finally:
            self._asked = None
        success = answer.command.producer_success
        if epoch == 0 or not self._encoder.producer_name:
            start = self._config.initial_sequence_id
            last = max(success.last_sequence_id, -1)  # -1 is the least a broker has reason to say.
            self.queue.next_sequence_id = last + 1 if start is None else start
            self._sends.last_sequence_id = last
        if success.HasField("topic_epoch"):
            self._topic_epoch = success.topic_epoch
        self._name = self._encoder.producer_name = success.producer_name
        self._encoder.schema_version = success.schema_version or None
        self._sends.size_max = connection.max_message_size
        for pieces in self._sends.unanswered():
            connection.write_pieces(pieces)

    def _request(self, epoch: int, request_id: int) -> bytes:
        self._asked = request_id
        return requests.producer(
            self._id,
            request_id,
            self._topic,
            name=self._name,
            user_provided_name=self._config.name is not None,
            epoch=epoch,
            metadata=self._config.properties,
            access_mode=self._config.access_mode,
            topic_epoch=self._topic_epoch,
            schema=self._schema,
            encrypted=self._encrypted,
            initial_subscription=self._config.initial_subscription,
        )

    def _write(self, pieces: list[bytes]) -> None:
        if self._attachment.connection is not None:
            self._attachment.connection.write_pieces(pieces)

    def _not_attached(self, error: MagnetarError, *, final: bool) -> None:
        if final:
            self.queue.fail_all(error)
        else:
            self._refused(error)

    def _refused(self, error: MagnetarError) -> None:
        kept_out = isinstance(error, BacklogQuotaExceeded)
        if kept_out and not isinstance(self._sends.trouble, BacklogQuotaExceeded):
            log.warning("producer.kept_out topic=%s error=%s", self._topic, error)
        self._sends.trouble = error
        if kept_out and not error.retriable:  # The policy is to tell who sends, not to hold it.
            self.queue.fail_sent(error)

    def _reconnect(self, reason: str) -> None:
        log.warning("producer.reconnects topic=%s reason=%s", self._topic, reason)
        if self._attachment.connection is not None:
            self._attachment.connection.abort(ConnectionLost(reason))
