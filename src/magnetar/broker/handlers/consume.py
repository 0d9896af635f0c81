"""SUBSCRIBE and what a consumer says afterwards."""

from collections.abc import Coroutine, Sequence
from dataclasses import KW_ONLY
from datetime import UTC, datetime
from typing import Final

from magnetar.broker.attachments import Opening
from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.schema.topic_schemas import TopicSchemas
from magnetar.broker.session import OpenConsumer, Session
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.subscriptions.consumer import SubscribeRequest
from magnetar.broker.topics.topic import storing
from magnetar.errors import (
    ConsumerNotFound,
    InvalidValue,
    MagnetarError,
    NotAllowed,
    TopicNotFound,
    UnexpectedCommand,
)
from magnetar.late_dataclass import dataclass
from magnetar.model.names import TopicName
from magnetar.model.position import Position, signed
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.model.txn_id import TxnId
from magnetar.turns import yield_to_loop
from magnetar.wire import replies
from magnetar.wire.acks import AckRun
from magnetar.wire.commands import (
    CommandAck,
    CommandCloseConsumer,
    CommandConsumerStats,
    CommandFlow,
    CommandGetLastMessageId,
    CommandRedeliverUnacknowledgedMessages,
    CommandSeek,
    CommandSubscribe,
    CommandUnsubscribe,
    MessageIdData,
)
from magnetar.wire.schemas import declared

from .client_authorization import OFF, ClientAuthorization
from .names import topic_name

CUMULATIVE: Final = 1
_STICKY: Final = 1


@dataclass(slots=True, eq=False)
class ConsumeHandler:
    """Attaches consumers to subscriptions and passes on what they ask for."""

    registry: TopicRegistry
    schemas: TopicSchemas
    settings: TopicSettings
    _: KW_ONLY
    consumers_max: int  # Of one connection; 0 is no limit.
    transactions: bool = False
    message_ids_at_once_max: int
    authorization: ClientAuthorization = OFF

    def on_subscribe(
        self, session: Session, command: CommandSubscribe
    ) -> Coroutine[None, None, None] | None:
        """Answer with SUCCESS, also for an id that is open."""
        name = topic_name(command.topic)
        if command.consumer_id in session.consumers.open:
            session.reply(replies.success(command.request_id))
            return None
        opening = session.consumers.begin(command.consumer_id, count_max=self.consumers_max)
        return self._subscribe(session, name, command, opening)

    async def _subscribe(
        self, session: Session, name: TopicName, command: CommandSubscribe, opening: Opening
    ) -> None:
        attach = self._attach(session, name, command)
        if await session.consumers.complete(opening, attach) is not None:
            session.reply(replies.success(command.request_id))

    def on_flow(self, session: Session, command: CommandFlow) -> None:
        if not command.messagePermits:
            raise UnexpectedCommand(f"FLOW of 0 permits for consumer {command.consumer_id}")
        opened = session.consumers.open.get(command.consumer_id)
        if opened is not None:
            opened.subscription.flow(opened.consumer, command.messagePermits)

    def on_ack(self, session: Session, command: CommandAck) -> Coroutine[None, None, None] | None:
        """Messages that do not exist are no error. Without a request id, nothing is answered."""
        error: MagnetarError | None = None
        opened = session.consumers.open.get(command.consumer_id)
        if opened is None:
            error = ConsumerNotFound("Consumer not found")
        elif command.HasField("txnid_most_bits"):
            if self.transactions:
                return _acknowledge_in_transaction(session, opened, command)
            error = NotAllowed("Transactions are not enabled.")
        elif command.ack_type == CUMULATIVE:
            error = _acknowledge_cumulative(opened, command.message_id)
        elif len(command.message_id) > self.message_ids_at_once_max:
            return self._acknowledge_many(session, opened, command)
        else:
            _acknowledge(opened, command.message_id)
        _answer_ack(session, command, error)
        return None

    async def _acknowledge_many(
        self, session: Session, opened: OpenConsumer, command: CommandAck
    ) -> None:
        """Acknowledge in parts. A CLOSE_CONSUMER meanwhile undoes nothing of it."""
        at_once = self.message_ids_at_once_max
        for start in range(0, len(command.message_id), at_once):
            _acknowledge(opened, command.message_id[start : start + at_once])
            await yield_to_loop()
        _answer_ack(session, command)

    def on_acks(self, session: Session, acks: AckRun) -> None:
        """Take acknowledgements of whole entries that ask for no answer."""
        opened = session.consumers.open.get(acks.consumer_id)
        if opened is not None:
            for ledger_id, entry_ids in acks.entry_ids.items():
                opened.subscription.acknowledge_entries(opened.consumer, ledger_id, entry_ids)

    def on_redeliver(
        self, session: Session, command: CommandRedeliverUnacknowledgedMessages
    ) -> Coroutine[None, None, None] | None:
        opened = session.consumers.open.get(command.consumer_id)
        if opened is None:
            return None
        if len(command.message_ids) > self.message_ids_at_once_max:
            return self._redeliver_many(opened, command)
        positions = [_position(one) for one in command.message_ids] or None
        opened.subscription.redeliver(opened.consumer, positions, _epoch_of(command))
        return None

    async def _redeliver_many(
        self, opened: OpenConsumer, command: CommandRedeliverUnacknowledgedMessages
    ) -> None:
        """Return all entries for redelivery at once, so that keys keep their order."""
        positions: list[Position] = []
        at_once = self.message_ids_at_once_max
        for start in range(0, len(command.message_ids), at_once):
            part = command.message_ids[start : start + at_once]
            positions += [_position(one) for one in part]
            await yield_to_loop()
        opened.subscription.redeliver(opened.consumer, positions, _epoch_of(command))

    async def on_unsubscribe(self, session: Session, command: CommandUnsubscribe) -> None:
        opened = _open(session, command.consumer_id)
        try:
            await opened.topic.unsubscribe(
                opened.subscription, opened.consumer, force=command.force
            )
        except NotAllowed as error:  # Pulsar answers MetadataError.
            raise InvalidValue(str(error)) from None
        except MagnetarError:
            # The consumer is detached from a subscription that still exists: it must come back.
            if opened.consumer not in opened.subscription.consumers:
                session.close_consumer(command.consumer_id)
            raise
        session.consumers.open.pop(command.consumer_id, None)
        session.reply(replies.success(command.request_id))

    async def on_seek(self, session: Session, command: CommandSeek) -> None:
        """Every consumer of the subscription gets CLOSE_CONSUMER, and then this one SUCCESS."""
        opened = _open(session, command.consumer_id)
        topic = storing(opened.topic)
        subscription = topic.subscriptions.get(opened.subscription.name)
        if subscription is None:
            raise ConsumerNotFound("Consumer not found")
        if command.HasField("message_id"):
            place = command.message_id
            await topic.seek(subscription, _position(place), ack_set=list(place.ack_set))
        elif command.HasField("message_publish_time"):
            await topic.seek_to_time(subscription, command.message_publish_time)
        else:
            raise InvalidValue("Message id and message publish time were not present")
        session.reply(replies.success(command.request_id))

    def on_close_consumer(
        self, session: Session, command: CommandCloseConsumer
    ) -> Coroutine[None, None, None] | None:
        opened = session.consumers.close(command.consumer_id)
        if opened is not None:
            return self._close(session, opened, command.request_id)
        session.reply(replies.success(command.request_id))
        return None

    async def on_last_message_id(self, session: Session, command: CommandGetLastMessageId) -> None:
        opened = _open(session, command.consumer_id)
        position, batch_index = await storing(opened.topic).log.last_message_id(
            compacted=opened.consumer.request.read_compacted
        )
        session.reply(
            replies.last_message_id(
                command.request_id,
                position,
                partition=opened.topic.name.partition_index,
                batch_index=batch_index,
                mark=opened.subscription.mark,
            )
        )

    def on_consumer_stats(self, session: Session, command: CommandConsumerStats) -> None:
        opened = session.consumers.open.get(command.consumer_id)
        if opened is None:
            raise UnexpectedCommand(f"CONSUMER_STATS for consumer {command.consumer_id}, not open")
        consumer = opened.consumer
        connected = datetime.fromtimestamp(consumer.connected_at_ms / 1000, UTC)
        stats = replies.ConsumerStats(
            consumer_name=consumer.name,
            address=f"/{session.address}",
            connected_since=connected.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            subscription_type=consumer.request.type.printed,
            available_permits=consumer.permits,
            unacked_messages=consumer.unacked,
            backlog=opened.subscription.backlog,
            blocked_on_unacked=consumer.blocked,
        )
        session.reply(replies.consumer_stats(command.request_id, stats))

    async def _close(self, session: Session, opened: OpenConsumer, request_id: int) -> None:
        await opened.leave()
        session.reply(replies.success(request_id))

    async def _attach(
        self, session: Session, name: TopicName, command: CommandSubscribe
    ) -> OpenConsumer:
        await self.authorization.consume(session, name, command.subscription)
        if command.read_compacted and not name.persistent:
            raise NotAllowed("readCompacted only valid on persistent topics")
        request = _request(command, self.settings.consumer_metadata_bytes_max)
        schema = declared(command.schema) if command.HasField("schema") else None
        try:
            topic = await self.registry.get(name, create=command.force_topic_creation)
        except TopicNotFound:
            raise TopicNotFound(f"Topic {name} does not exist") from None
        await self.schemas.check_consumer(topic, schema)
        subscription, consumer = await topic.subscribe(request, session)
        return OpenConsumer(topic, subscription, consumer)


def _request(command: CommandSubscribe, metadata_bytes_max: int) -> SubscribeRequest:
    """What a SUBSCRIBE asks for. Raises NotAllowed and InvalidValue for what is never granted."""
    kind = SubscriptionType(command.subType)
    if command.read_compacted and not kind.single_active:
        raise NotAllowed("readCompacted only allowed on failover or exclusive subscriptions")
    metadata = {pair.key: pair.value for pair in command.metadata}
    if sum(len(key) + len(value) for key, value in metadata.items()) > metadata_bytes_max:
        raise InvalidValue(f"metadata has a max size of {metadata_bytes_max} bytes")
    return SubscribeRequest(
        subscription=command.subscription,
        type=kind,
        consumer_id=command.consumer_id,
        consumer_name=command.consumer_name,
        priority_level=command.priority_level,
        durable=command.durable,
        initial_position=InitialPosition(command.initialPosition),
        start=_position(command.start_message_id) if command.HasField("start_message_id") else None,
        start_rollback_s=command.start_message_rollback_duration_sec,
        hash_ranges=_ranges(kind, command),
        allow_out_of_order=command.keySharedMeta.allowOutOfOrderDelivery,
        metadata=metadata,
        properties={pair.key: pair.value for pair in command.subscription_properties},
        consumer_epoch=command.consumer_epoch if command.HasField("consumer_epoch") else None,
        read_compacted=command.read_compacted,
        replicated=command.replicate_subscription_state,
    )


def _ranges(
    kind: SubscriptionType, command: CommandSubscribe
) -> tuple[tuple[int, int], ...] | None:
    """The slots that a Key_Shared consumer declares, or that an Exclusive one wants alone."""
    asked = command.keySharedMeta
    sticky = kind is SubscriptionType.KEY_SHARED and asked.keySharedMode == _STICKY
    if not sticky and not (kind is SubscriptionType.EXCLUSIVE and asked.hashRanges):
        return None
    return tuple((one.start, one.end) for one in asked.hashRanges)


def _acknowledge(opened: OpenConsumer, ids: Sequence[MessageIdData]) -> None:
    whole = [Position(one.ledgerId, one.entryId) for one in ids if not one.ack_set]
    parts = [(_position(one), list(one.ack_set)) for one in ids if one.ack_set]
    opened.subscription.acknowledge(opened.consumer, whole, parts)


def _acknowledge_cumulative(
    opened: OpenConsumer, ids: Sequence[MessageIdData]
) -> NotAllowed | None:
    """Returns why nothing is acknowledged, where that is so."""
    kind = opened.consumer.request.type
    if not kind.single_active:
        return NotAllowed(
            f"Cumulative acknowledgement is not allowed on a {kind.printed} subscription: "
            "acknowledge messages one by one"
        )
    if len(ids) != 1:
        return NotAllowed(f"A cumulative acknowledgement names one message, not {len(ids)}")
    opened.subscription.acknowledge_cumulative(
        opened.consumer, _position(ids[0]), list(ids[0].ack_set)
    )
    return None


async def _acknowledge_in_transaction(
    session: Session, opened: OpenConsumer, command: CommandAck
) -> None:
    """Acknowledge in a transaction. Whatever comes of it is answered."""
    ids, error = command.message_id, None
    try:
        await opened.subscription.acknowledge_in_transaction(
            opened.consumer,
            TxnId(command.txnid_most_bits, command.txnid_least_bits),
            [_position(one) for one in ids if not one.ack_set],
            [(_position(one), list(one.ack_set), one.batch_size) for one in ids if one.ack_set],
            cumulative=command.ack_type == CUMULATIVE,
        )
    except MagnetarError as refused:
        error = refused
    _answer_ack(session, command, error)


def _answer_ack(session: Session, command: CommandAck, error: MagnetarError | None = None) -> None:
    if command.HasField("request_id"):
        session.reply(replies.ack_response(command.consumer_id, command.request_id, error))


def _epoch_of(command: CommandRedeliverUnacknowledgedMessages) -> int | None:
    return command.consumer_epoch if command.HasField("consumer_epoch") else None


def _open(session: Session, consumer_id: int) -> OpenConsumer:
    opened = session.consumers.open.get(consumer_id)
    if opened is None:
        raise ConsumerNotFound("Consumer not found")
    return opened


def _position(message_id: MessageIdData) -> Position:
    """A position as it travels: -1 comes as 2^64-1."""
    return Position(signed(message_id.ledgerId), signed(message_id.entryId))
