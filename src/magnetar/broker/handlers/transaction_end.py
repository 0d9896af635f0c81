"""END_TXN_ON_PARTITION, END_TXN_ON_SUBSCRIPTION: a coordinator's broker tells of an end.

A topic or a subscription that is not there has nothing to end.
"""

from collections.abc import Awaitable, Callable

from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.session import Session
from magnetar.broker.topics.topic import StoredTopic
from magnetar.errors import InvalidName, MagnetarError, NotFound, UnexpectedCommand
from magnetar.late_dataclass import dataclass
from magnetar.model.position import signed
from magnetar.model.txn_id import TxnId
from magnetar.wire import replies
from magnetar.wire.commands import (
    CommandEndTxnOnPartition,
    CommandEndTxnOnSubscription,
    TxnAction,
)

from .client_authorization import OFF, ClientAuthorization
from .names import topic_name

_Command = CommandEndTxnOnPartition | CommandEndTxnOnSubscription
_End = Callable[[StoredTopic], Awaitable[None]]


@dataclass(slots=True, eq=False)
class TransactionEndHandler:
    """Ends transactions in the topics of this broker, for coordinators of others."""

    registry: TopicRegistry
    authorization: ClientAuthorization = OFF

    async def on_partition(self, session: Session, command: CommandEndTxnOnPartition) -> None:
        """End what was published to a topic."""

        async def end(topic: StoredTopic) -> None:
            await topic.end_transaction(
                _id_of(command), commit=_commits(command), low_watermark=_low_watermark(command)
            )

        error = await self._end(session, command, command.topic, end)
        session.reply(replies.end_txn_on_partition(command.request_id, _id_of(command), error))

    async def on_subscription(self, session: Session, command: CommandEndTxnOnSubscription) -> None:
        """End what was acknowledged on a subscription."""
        name = command.subscription.subscription

        async def end(topic: StoredTopic) -> None:
            subscription = topic.subscriptions.get(name)
            if subscription is not None:
                await subscription.end_transaction(
                    _id_of(command), commit=_commits(command), low_watermark=_low_watermark(command)
                )

        error = await self._end(session, command, command.subscription.topic, end)
        session.reply(replies.end_txn_on_subscription(command.request_id, _id_of(command), error))

    async def _end(
        self, session: Session, command: _Command, topic: str, end: _End
    ) -> MagnetarError | None:
        """Return what is to be answered. Raises UnexpectedCommand for what no broker sends."""
        if not command.HasField("txnid_least_bits_of_low_watermark"):
            raise UnexpectedCommand("the end of a transaction without a low watermark")
        if not command.HasField("txn_action"):
            raise UnexpectedCommand("the end of a transaction that is neither COMMIT nor ABORT")
        try:
            name = topic_name(topic)
        except InvalidName as error:
            raise UnexpectedCommand(str(error)) from error
        try:
            await self.authorization.act_for_broker(session)
            found = (await self.registry.get(name, create=False)).stored
            if found is not None:
                await end(found)
        except NotFound:
            return None
        except MagnetarError as error:
            return error
        return None


def _commits(command: _Command) -> bool:
    return command.txn_action == TxnAction.COMMIT


def _low_watermark(command: _Command) -> int:
    return signed(command.txnid_least_bits_of_low_watermark)


def _id_of(command: _Command) -> TxnId:
    return TxnId(command.txnid_most_bits, command.txnid_least_bits)
