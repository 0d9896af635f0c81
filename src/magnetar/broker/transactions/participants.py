"""Tells the topics and subscriptions of a transaction that it ends, wherever they are.

What is not there has nothing to end: a topic or a subscription that was deleted, or that keeps
nothing of transactions. What fails otherwise is told again by who asked.
"""

import asyncio
from contextlib import suppress
from typing import Protocol

from magnetar.broker.cluster.lookup import Lookup
from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.topics.topic import Topic
from magnetar.errors import NotFound
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.names import TopicName
from magnetar.model.txn_id import TxnId

from .transaction import Transaction, TxnSubscription


class Peers(Protocol):
    """The other brokers, which are told in the commands of the protocol."""

    async def end_transaction(
        self,
        broker: BrokerAddress,
        txn_id: TxnId,
        topic: TopicName,
        subscription: str | None,
        low_watermark: int,
        *,
        commit: bool,
    ) -> None:
        """Tell the owner of a topic, or of a subscription of it. Raises what that answers."""

    async def join_transaction(
        self, broker: BrokerAddress, txn_id: TxnId, topic: TopicName, subscription: str | None
    ) -> None:
        """Tell the broker of its coordinator who takes part. Raises what that answers."""


Participant = str | TxnSubscription
"""What takes part in a transaction: a topic, by its name, or a subscription."""


class TopicParticipants:
    """The topics of a cluster."""

    def __init__(self, registry: TopicRegistry, lookup: Lookup, peers: Peers) -> None:
        self._registry = registry
        self._lookup = lookup
        self._peers = peers

    async def end(self, transaction: Transaction, low_watermark: int) -> None:
        """Commit or abort at all that took part, where what has ended is no error.

        Transactions up to number ``low_watermark`` of the coordinator have ended. All are told,
        whatever becomes of some. Raises what one of them raises.
        """
        parts: list[Participant] = [*transaction.topics, *transaction.subscriptions]
        told = [self._tell(transaction, low_watermark, part) for part in parts]
        if len(told) == 1:
            await told[0]
            return
        for result in await asyncio.gather(*told, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    async def _tell(self, transaction: Transaction, low_watermark: int, part: Participant) -> None:
        name = TopicName.parse(part if isinstance(part, str) else part.topic)
        with suppress(NotFound):
            topic = self._registry.loaded.get(name)
            if topic is None or topic.fenced:
                owner = (await self._lookup.find(name)).address
                if owner is not self._registry.ownership.own:
                    await self._peers.end_transaction(
                        owner,
                        transaction.txn_id,
                        name,
                        None if isinstance(part, str) else part.subscription,
                        low_watermark,
                        commit=transaction.commits,
                    )
                    return
                topic = await self._registry.get(name, create=False)
            await _end(topic, transaction, low_watermark, part)


async def _end(
    topic: Topic, transaction: Transaction, low_watermark: int, part: Participant
) -> None:
    """End it in a topic that is open here."""
    txn_id, commit = transaction.txn_id, transaction.commits
    if topic.stored is None:
        return
    if isinstance(part, str):
        await topic.stored.end_transaction(txn_id, commit=commit, low_watermark=low_watermark)
        return
    subscription = topic.subscriptions.get(part.subscription)
    if subscription is not None:
        await subscription.end_transaction(txn_id, commit=commit, low_watermark=low_watermark)
