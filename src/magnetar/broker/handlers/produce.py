"""PRODUCER, SEND, CLOSE_PRODUCER."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import KW_ONLY
from typing import Final

from magnetar.broker.attachments import Opening
from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.schema.topic_schemas import TopicSchemas
from magnetar.broker.session import Session
from magnetar.broker.topics.publishing.producer import Producer
from magnetar.broker.topics.publishing.producer_access import (
    SHARED_ACCESS,
    AccessRequest,
    ExclusiveClaim,
)
from magnetar.broker.topics.topic import Topic
from magnetar.errors import (
    ChecksumMismatch,
    InvalidValue,
    MagnetarError,
    NotAllowed,
    UnexpectedCommand,
)
from magnetar.late_dataclass import dataclass
from magnetar.message.send_run import SendRun
from magnetar.model.names import TopicName
from magnetar.model.position import LONG_MAX
from magnetar.model.producers import ProducerAccessMode
from magnetar.model.system_topics import is_change_events
from magnetar.tasks import Tasks
from magnetar.wire import replies
from magnetar.wire.commands import CommandCloseProducer, CommandProducer, CommandSend
from magnetar.wire.schemas import declared, version_bytes

from .client_authorization import OFF, ClientAuthorization
from .names import topic_name

TRANSACTIONS_OFF: Final = NotAllowed("Transactions are not enabled.")


@dataclass(slots=True, eq=False)
class ProduceHandler:
    """Attaches producers to topics and hands them their sends."""

    registry: TopicRegistry
    schemas: TopicSchemas
    _: KW_ONLY
    tasks: Tasks
    producers_max: int  # Of one connection; 0 is no limit.
    transactions: bool = False
    open_events: Callable[[TopicName], Awaitable[Topic]] | None = None
    """Opens a topic ``__change_events`` for who publishes to it; None: nobody does."""
    authorization: ClientAuthorization = OFF

    def on_producer(
        self, session: Session, command: CommandProducer
    ) -> Coroutine[None, None, None] | None:
        """Answer with PRODUCER_SUCCESS; for an id that is open, with the name it has."""
        name = topic_name(command.topic)
        producer_id = command.producer_id
        present = session.producers.open.get(producer_id)
        if present is not None:
            session.reply(_success(command, present))
            return None
        opening = session.producers.begin(producer_id, count_max=self.producers_max)
        if _mode(command) is ProducerAccessMode.WAIT_FOR_EXCLUSIVE:
            return self._open_in_turn(session, name, command, opening)
        attach = self._attach(session, name, command, SHARED_ACCESS.waits)
        return self._open(session, command, opening, attach)

    async def _open(
        self,
        session: Session,
        command: CommandProducer,
        opening: Opening,
        attach: Coroutine[None, None, Producer],
    ) -> None:
        producer = await session.producers.complete(opening, attach)
        if producer is not None:
            session.reply(_success(command, producer))

    async def _open_in_turn(
        self, session: Session, name: TopicName, command: CommandProducer, opening: Opening
    ) -> None:
        """Return when the producer is open, or waits for it: it may for days, and is no request.

        The client is answered twice then, the second time when it is its turn.
        """
        waiting: asyncio.Future[MagnetarError | None] = asyncio.get_running_loop().create_future()

        def waits(claim: ExclusiveClaim) -> None:
            waiting.set_result(None)
            session.reply(
                replies.producer_success(command.request_id, claim.name, producer_ready=False)
            )
            opening.when_abandoned(claim.leave)

        async def finish() -> MagnetarError | None:
            try:
                await self._open(session, command, opening, attach)
            except MagnetarError as error:
                if not waiting.done():
                    return error
                session.reply(replies.error(command.request_id, error))
            return None

        attach = self._attach(session, name, command, waits)
        work = self.tasks.spawn("producer", finish())
        await asyncio.wait((work, waiting), return_when=asyncio.FIRST_COMPLETED)
        if work.done() and not work.cancelled() and (error := work.result()) is not None:
            raise error

    def on_sends(self, session: Session, run: SendRun) -> None:
        """Publish a run of sends. Raises UnexpectedCommand when its producer is not open."""
        producer = session.producers.open.get(run.producer_id)
        if producer is None:
            self._check_late(session, run.producer_id)
        elif run.transaction is not None and not self.transactions:
            for sequence_id in run.sequences:
                error = replies.send_error(run.producer_id, sequence_id, TRANSACTIONS_OFF)
                session.reply(error)
        else:
            session.publish(producer, run)

    def on_general_send(self, session: Session, command: CommandSend) -> None:
        """Refuse a send that was damaged on the way."""
        producer_id = command.producer_id
        if producer_id not in session.producers.open:
            self._check_late(session, producer_id)
            return
        error = ChecksumMismatch("Checksum failed on the broker")
        session.reply(replies.send_error(producer_id, command.sequence_id, error))

    def on_close_producer(
        self, session: Session, command: CommandCloseProducer
    ) -> Coroutine[None, None, None] | None:
        """Later sends find no producer; SUCCESS comes when all earlier ones are answered."""
        producer = session.producers.close(command.producer_id)
        if producer is not None:
            return self._close(session, producer, command.request_id)
        session.reply(replies.success(command.request_id))
        return None

    async def _close(self, session: Session, producer: Producer, request_id: int) -> None:
        await producer.close()
        session.reply(replies.success(request_id))

    async def _attach(
        self,
        session: Session,
        name: TopicName,
        command: CommandProducer,
        waits: Callable[[ExclusiveClaim], None],
    ) -> Producer:
        await self.authorization.produce(session, name, command.initial_subscription_name)
        if command.txn_enabled and not self.transactions:
            raise TRANSACTIONS_OFF
        schema = declared(command.schema) if command.HasField("schema") else None
        topic = await self._topic(name)
        version = await self.schemas.of_producer(name, schema)
        producer = await topic.attach_producer(
            session,
            command.producer_id,
            command.producer_name if command.HasField("producer_name") else None,
            epoch=command.epoch,
            metadata={pair.key: pair.value for pair in command.metadata},
            initial_subscription=command.initial_subscription_name,
            access=AccessRequest(
                _mode(command),
                _topic_epoch(command),
                encrypted=command.encrypted,
                waits=waits,
            ),
        )
        producer.schema_version = version_bytes(version)
        producer.topic = name
        return producer

    async def _topic(self, name: TopicName) -> Topic:
        if self.open_events is not None and is_change_events(name):
            return await self.open_events(name)
        return await self.registry.get(name, create=True, writes=True)

    def _check_late(self, session: Session, producer_id: int) -> None:
        """Ignore a send that was on its way when the broker closed the producer, and no other."""
        if not session.connected:
            raise UnexpectedCommand("SEND before CONNECT")
        if not session.may_be_late(producer_id):
            raise UnexpectedCommand(f"SEND for producer {producer_id}, which is not open")


def _topic_epoch(command: CommandProducer) -> int | None:
    if not command.HasField("topic_epoch"):
        return None
    if command.topic_epoch > LONG_MAX:
        raise InvalidValue(
            f"Topic epoch {command.topic_epoch} is out of range: send the one of PRODUCER_SUCCESS"
        )
    return command.topic_epoch


def _mode(command: CommandProducer) -> ProducerAccessMode:
    return ProducerAccessMode(command.producer_access_mode)


def _success(command: CommandProducer, producer: Producer) -> bytes:
    return replies.producer_success(
        command.request_id,
        producer.name,
        producer.last_sequence_id,
        schema_version=producer.schema_version,
        topic_epoch=producer.topic_epoch,
    )
