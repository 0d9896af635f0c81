"""Decides which method handles a command, and how an error is answered; nothing else does.

A method takes the session and the command. It answers at once and returns None, or returns the rest
of its work, which then runs in a task of its own. What it raises is answered to the request it
belongs to; a ProtocolError ends the connection instead.
"""

import logging
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from magnetar.broker.session import Session
from magnetar.errors import (
    FrameTooLarge,
    MagnetarError,
    NotAllowed,
    NotAuthenticated,
    NotReady,
    ProtocolError,
    UnexpectedCommand,
    UnknownFailure,
)
from magnetar.message.send_run import SendRun
from magnetar.tasks import Tasks
from magnetar.wire import replies
from magnetar.wire.commands import BaseCommand
from magnetar.wire.frames import Frame

from .connect import ConnectHandler
from .consume import ConsumeHandler
from .lookup import LookupHandler
from .produce import ProduceHandler
from .request_limiter import RequestLimiter
from .schema import SchemaHandler
from .topic_watch import TopicWatchHandler
from .transaction import TransactionHandler
from .transaction_end import TransactionEndHandler

log = logging.getLogger(__name__)

REQUEST_SIZE_MAX: Final = 64 * 1024
"""Bytes of a request, which may have to wait and much of which is kept."""

_FIELDS: Final = {
    number: field.name for number, field in BaseCommand.DESCRIPTOR.fields_by_number.items()
}
"""The field of BaseCommand that has a command: it has the number of the command's kind."""

Work: TypeAlias = Coroutine[Any, Any, None]
Method: TypeAlias = Callable[[Session, Any], Work | None]
Refusal: TypeAlias = Callable[[int, MagnetarError], bytes]


class Row(NamedTuple):
    """One kind of command."""

    kind: int  # Its number in BaseCommand.
    method: Method
    refusal: Refusal = replies.error  # Makes the answer to a request that failed.
    before_connect: bool = False
    beginning: bool = False  # It asks for something new: refused while too much is running.
    size_max: int = REQUEST_SIZE_MAX  # 0: a list of messages may be as long as a frame.

    @property
    def name(self) -> str:
        """The command's name in the log."""
        return BaseCommand.Type.Name(self.kind)

    def check(self, session: Session, command: Any, running: int, running_max: int) -> None:
        """Refuse a command that may not be taken while so many requests of so many run.

        Raises NotAuthenticated and NotReady. For one that is too large it raises NotAllowed, or
        FrameTooLarge where the command has no id.
        """
        if session.unwelcome and not self.before_connect:
            raise NotAuthenticated(session.unwelcome)
        if self.beginning and running >= running_max:
            raise NotReady(f"{running} requests are under way: try again later")
        size = command.ByteSize() if self.size_max else 0
        if size > self.size_max:
            kind = NotAllowed if _request_id(command) is not None else FrameTooLarge
            raise kind(
                f"a {self.name} of {size} bytes, at most {self.size_max} are taken: shorten its "
                "names and properties"
            )


class Job(NamedTuple):
    """A request that takes time, and what is left to do for it."""

    row: Row
    command: Any
    work: Work


class CommandTable:
    """Takes every frame of every connection."""

    def __init__(
        self,
        *,
        connect: ConnectHandler,
        produce: ProduceHandler,
        consume: ConsumeHandler,
        lookup: LookupHandler,
        schema: SchemaHandler,
        topic_watch: TopicWatchHandler,
        transaction: TransactionHandler | None = None,
        transaction_end: TransactionEndHandler | None = None,
        tasks: Tasks,
        requests_running_max: int,
    ) -> None:
        """``transaction``, ``transaction_end``: None where those are off.

        ``requests_running_max`` is for all connections.
        """
        self._running_max = requests_running_max
        self._consume = consume
        self._limiter = RequestLimiter(tasks, work=self._finish, drop=self._drop)
        rows = (
            *_rows(connect, produce, consume, lookup),
            *_schema_rows(schema),
            *_watch_rows(topic_watch),
            *(_no_transactions() if transaction is None else _transaction_rows(transaction)),
            *(_no_ends() if transaction_end is None else _end_rows(transaction_end)),
        )
        self._rows = {row.kind: row for row in rows}
        self._running = 0  # Requests of all connections that run or wait.
        self.on_sends: Callable[[Session, SendRun], None] = produce.on_sends
        """Raises ProtocolError, upon which the connection must be closed."""

    def on_frame(self, session: Session, frame: Frame) -> None:
        """Raises ProtocolError, upon which the connection must be closed."""
        kind = frame.command.type
        row = self._rows.get(kind)
        if row is None:
            raise UnexpectedCommand(f"command {kind} is not a client's")
        if not (session.connected or row.before_connect):
            raise UnexpectedCommand(f"{row.name} before CONNECT")
        command = getattr(frame.command, _FIELDS[kind])
        try:
            row.check(session, command, self._running, self._running_max)
            work = None
            if frame.acks is None:
                work = row.method(session, command)
            else:
                self._consume.on_acks(session, frame.acks)
        except ProtocolError:
            raise
        except Exception as error:  # noqa: BLE001 - a defect of ours is logged there
            self._failed(session, row, command, error)
        else:
            if work is not None:
                self._running += 1
                session.request_began()
                self._limiter.take(session, row.name, Job(row, command, work))

    async def _finish(self, session: Session, job: Job) -> bool:
        """Do what is left and answer. False: the connection is closed."""
        try:
            await job.work
        except ProtocolError as error:
            reason = f"{type(error).__name__}: {error}"
            log.warning(
                "connection.broke_the_protocol address=%s reason=%s", session.address, reason
            )
            session.hang_up(reason)
            return False
        except Exception as error:  # noqa: BLE001 - a defect of ours is logged there
            self._failed(session, job.row, job.command, error)
        finally:
            self._running -= 1
            session.request_ended()
        return True

    def _drop(self, session: Session, job: Job) -> None:
        """Cancel a job whose client does not wait for its answer any more."""
        job.work.close()
        self._running -= 1
        session.request_ended()

    def _failed(self, session: Session, row: Row, command: Any, error: Exception) -> None:
        """Answer with the error. A defect of ours is logged and does not end the connection."""
        if not isinstance(error, MagnetarError):
            log.error(
                "command.failed command=%s address=%s", row.name, session.address, exc_info=error
            )
            error = UnknownFailure(f"{type(error).__name__}: {error}")
        log.info(
            "command.refused command=%s address=%s error=%s: %s",
            row.name,
            session.address,
            type(error).__name__,
            error,
        )
        request_id = _request_id(command)
        if request_id is not None:
            session.reply(row.refusal(request_id, error))


def _request_id(command: Any) -> int | None:
    """The request id for the answer; None where the client waits for none."""
    if "request_id" in command.DESCRIPTOR.fields_by_name and command.HasField("request_id"):
        return int(command.request_id)
    return None


def _rows(
    connect: ConnectHandler, produce: ProduceHandler, consume: ConsumeHandler, lookup: LookupHandler
) -> Iterator[Row]:
    kinds = BaseCommand
    yield Row(kinds.CONNECT, connect.on_connect, before_connect=True)
    yield Row(kinds.PING, connect.on_ping, before_connect=True)
    yield Row(kinds.PONG, connect.on_pong, before_connect=True)
    yield Row(kinds.AUTH_RESPONSE, connect.on_auth_response, before_connect=True)
    yield Row(kinds.LOOKUP, lookup.on_lookup, replies.lookup_failed, beginning=True)
    yield Row(
        kinds.PARTITIONED_METADATA,
        lookup.on_partitioned_metadata,
        replies.partitioned_metadata_failed,
        beginning=True,
    )
    yield Row(kinds.GET_TOPICS_OF_NAMESPACE, lookup.on_topics_of_namespace, beginning=True)
    yield Row(kinds.PRODUCER, produce.on_producer, beginning=True)
    yield Row(kinds.SEND, produce.on_general_send, size_max=0)
    yield Row(kinds.CLOSE_PRODUCER, produce.on_close_producer)
    yield Row(kinds.SUBSCRIBE, consume.on_subscribe, beginning=True)
    yield Row(kinds.FLOW, consume.on_flow)
    yield Row(kinds.ACK, consume.on_ack, size_max=0)
    yield Row(kinds.REDELIVER_UNACKNOWLEDGED_MESSAGES, consume.on_redeliver, size_max=0)
    yield Row(kinds.UNSUBSCRIBE, consume.on_unsubscribe)
    yield Row(kinds.SEEK, consume.on_seek)
    yield Row(kinds.CLOSE_CONSUMER, consume.on_close_consumer)
    yield Row(kinds.GET_LAST_MESSAGE_ID, consume.on_last_message_id, beginning=True)
    yield Row(kinds.CONSUMER_STATS, consume.on_consumer_stats)


def _schema_rows(schema: SchemaHandler) -> Iterator[Row]:
    kinds = BaseCommand
    yield Row(kinds.GET_SCHEMA, schema.on_get_schema, replies.get_schema_failed, beginning=True)
    yield Row(
        kinds.GET_OR_CREATE_SCHEMA,
        schema.on_get_or_create_schema,
        replies.get_or_create_schema_failed,
        beginning=True,
    )


def _watch_rows(topic_watch: TopicWatchHandler) -> Iterator[Row]:
    kinds = BaseCommand
    yield Row(kinds.WATCH_TOPIC_LIST, topic_watch.on_watch, beginning=True)
    yield Row(kinds.WATCH_TOPIC_LIST_CLOSE, topic_watch.on_close)


def _transaction_rows(transaction: TransactionHandler) -> Iterator[Row]:
    kinds = BaseCommand
    yield Row(
        kinds.TC_CLIENT_CONNECT_REQUEST,
        transaction.on_connect,
        replies.tc_client_connect_failed,
        beginning=True,
    )
    yield Row(kinds.NEW_TXN, transaction.on_new_txn)
    yield Row(kinds.ADD_PARTITION_TO_TXN, transaction.on_add_partition)
    yield Row(kinds.ADD_SUBSCRIPTION_TO_TXN, transaction.on_add_subscription)
    yield Row(kinds.END_TXN, transaction.on_end_txn)


def _no_transactions() -> Iterator[Row]:
    """Commands that take a coordinator: the client is told, and stays connected."""
    kinds = BaseCommand
    for kind in (
        kinds.TC_CLIENT_CONNECT_REQUEST,
        kinds.NEW_TXN,
        kinds.ADD_PARTITION_TO_TXN,
        kinds.ADD_SUBSCRIPTION_TO_TXN,
        kinds.END_TXN,
    ):
        yield Row(kind, _refuse)


def _end_rows(transaction_end: TransactionEndHandler) -> Iterator[Row]:
    kinds = BaseCommand
    yield Row(kinds.END_TXN_ON_PARTITION, transaction_end.on_partition)
    yield Row(kinds.END_TXN_ON_SUBSCRIPTION, transaction_end.on_subscription)


def _no_ends() -> Iterator[Row]:
    kinds = BaseCommand
    for kind in (kinds.END_TXN_ON_PARTITION, kinds.END_TXN_ON_SUBSCRIPTION):
        yield Row(kind, _refuse)


def _refuse(_session: Session, _command: Any) -> None:
    raise NotAllowed("Transactions are not enabled.")
