"""TC_CLIENT_CONNECT, NEW_TXN, ADD_PARTITION_TO_TXN, ADD_SUBSCRIPTION_TO_TXN, END_TXN.

All but the first are done at once, and answered when their coordinator has stored what they say:
a request has no task where nothing is asked about the role of the client.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from magnetar.broker.session import Session
from magnetar.broker.transactions.coordinators import Coordinators
from magnetar.broker.transactions.transaction import TxnSubscription
from magnetar.errors import MagnetarError, NotAllowed, UnexpectedCommand
from magnetar.model.system_topics import is_of_transactions
from magnetar.model.txn_id import TxnId
from magnetar.wire import replies
from magnetar.wire.commands import (
    CommandAddPartitionToTxn,
    CommandAddSubscriptionToTxn,
    CommandEndTxn,
    CommandNewTxn,
    CommandTcClientConnectRequest,
    TxnAction,
)

from .client_authorization import OFF, ClientAuthorization
from .names import topic_name

_Command = CommandAddPartitionToTxn | CommandAddSubscriptionToTxn | CommandEndTxn
_Reply = Callable[[int, TxnId, MagnetarError | None], bytes]
_Work = Coroutine[Any, Any, None]


class TransactionHandler:
    """Begins and ends transactions for clients, at the coordinators of this broker."""

    def __init__(
        self,
        coordinators: Coordinators,
        authorization: ClientAuthorization = OFF,
        *,
        begins: bool = True,
    ) -> None:
        """``begins``: false where transactions were switched off, and end only."""
        self._coordinators = coordinators
        self._authorization = authorization
        self._begins = begins

    async def on_connect(self, session: Session, command: CommandTcClientConnectRequest) -> None:
        """Serve a coordinator, where its bundle is served here; a transaction is of no session."""
        await self._coordinators.connect(command.tc_id)
        session.reply(replies.tc_client_connect(command.request_id))

    def on_new_txn(self, session: Session, command: CommandNewTxn) -> None:
        request_id, number = command.request_id, command.tc_id

        def answer(error: MagnetarError | None) -> None:
            session.request_ended()
            session.reply(
                replies.new_txn(request_id, txn_id)
                if error is None
                else replies.new_txn_failed(request_id, number, error)
            )

        try:
            if not self._begins:
                raise NotAllowed("Transactions are not enabled.")
            coordinator = self._coordinators.get(number)
            txn_id = coordinator.begin(command.txn_ttl_millis, session.role, answer)
        except MagnetarError as error:
            session.reply(replies.new_txn_failed(request_id, number, error))
        else:
            session.request_began()

    def on_add_partition(self, session: Session, command: CommandAddPartitionToTxn) -> _Work | None:
        topics = list(command.partitions)

        def add(txn_id: TxnId, answer: Callable[[MagnetarError | None], None]) -> None:
            for topic in topics:
                _check(topic)
            self._coordinators.get(txn_id.most_bits).add_topics(txn_id, topics, answer)

        async def check() -> None:
            for topic in topics:
                await self._authorization.produce(session, topic_name(topic), "")

        return self._do(session, command, add, replies.add_partition_to_txn, check)

    def on_add_subscription(
        self, session: Session, command: CommandAddSubscriptionToTxn
    ) -> _Work | None:
        added = [TxnSubscription(each.topic, each.subscription) for each in command.subscription]

        def add(txn_id: TxnId, answer: Callable[[MagnetarError | None], None]) -> None:
            for each in added:
                _check(each.topic)
            self._coordinators.get(txn_id.most_bits).add_subscriptions(txn_id, added, answer)

        async def check() -> None:
            for each in added:
                await self._authorization.consume(
                    session, topic_name(each.topic), each.subscription
                )

        return self._do(session, command, add, replies.add_subscription_to_txn, check)

    def on_end_txn(self, session: Session, command: CommandEndTxn) -> _Work | None:
        if not command.HasField("txn_action"):
            raise UnexpectedCommand("an END_TXN that says neither COMMIT nor ABORT")
        commit = command.txn_action == TxnAction.COMMIT

        def end(txn_id: TxnId, answer: Callable[[MagnetarError | None], None]) -> None:
            self._coordinators.get(txn_id.most_bits).end(
                txn_id, session.address, answer, commit=commit
            )

        return self._do(session, command, end, replies.end_txn)

    def _do(
        self,
        session: Session,
        command: _Command,
        act: Callable[[TxnId, Callable[[MagnetarError | None], None]], None],
        reply: _Reply,
        check: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> _Work | None:
        """Act on a transaction and answer. ``check`` raises where the client's role may not."""
        request_id = command.request_id
        txn_id = TxnId(command.txnid_most_bits, command.txnid_least_bits)

        def answer(error: MagnetarError | None) -> None:
            session.request_ended()
            session.reply(reply(request_id, txn_id, error))

        def act_now() -> None:
            session.request_began()
            try:
                act(txn_id, answer)
            except MagnetarError as error:
                answer(error)

        async def act_if_allowed() -> None:
            try:
                owner = self._coordinators.get(txn_id.most_bits).owner_of(txn_id)
                await self._authorization.use_transaction(session, txn_id, owner)
                if check is not None:
                    await check()
            except MagnetarError as error:
                session.reply(reply(request_id, txn_id, error))
            else:
                act_now()

        if self._authorization.on:
            return act_if_allowed()
        act_now()
        return None


def _check(topic: str) -> None:
    """Raise InvalidName, and NotAllowed for a log of transactions, which is told of no end."""
    if is_of_transactions(topic_name(topic)):
        raise NotAllowed(f"{topic} is a log of transactions, and takes part in none")
