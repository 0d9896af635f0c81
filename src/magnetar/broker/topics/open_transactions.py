"""Asks coordinators about transactions that stay open, so that no topic waits for one for ever.

A coordinator tells a topic of an end only where the topic takes part, and a client may send without
having said so, or with an id that no coordinator gave. So a topic says by itself that it takes part
in what is open for a while: then the coordinator will tell it of the end. Where the coordinator
knows of no such transaction, nobody will, and it is aborted here.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from magnetar.broker.topics.topic_context import TopicContext
from magnetar.errors import MagnetarError
from magnetar.model.names import TopicName
from magnetar.model.txn_id import TxnId
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)

ASK_EVERY_S: Final = 10.0
"""A transaction is asked about when it was open at two looks, which are so far apart."""


class OpenTransactions:
    """The open transactions of one topic, or of one subscription of it."""

    __slots__ = ("_abort", "_context", "_find", "_subscription", "_tasks", "_topic", "_watching")

    def __init__(
        self,
        context: TopicContext,
        topic: TopicName,
        subscription: str | None,
        tasks: Tasks,
        *,
        find: Callable[[], Iterable[TxnId]],
        abort: Callable[[TxnId], Awaitable[None]],
    ) -> None:
        """``find`` tells which are open, and ``abort`` ends one that no coordinator knows."""
        self._context = context
        self._topic = topic
        self._subscription = subscription
        self._tasks = tasks
        self._find = find
        self._abort = abort
        self._watching = False

    def watch(self) -> None:
        """One may be open: look after it until none is."""
        if not self._watching and self._context.take_part is not None:
            self._watching = True
            self._tasks.spawn("open transactions", self._watch())

    async def _watch(self) -> None:
        seen: set[TxnId] = set()
        known: set[TxnId] = set()
        while found := set(self._find()):
            known &= found
            try:
                for each in sorted(found & seen - known):
                    if await self._is_known(each):
                        known.add(each)
            except MagnetarError as error:  # It is asked again.
                log.info("transactions.not_asked topic=%s error=%s", self._topic, error)
            seen = found
            await self._context.clock.sleep(ASK_EVERY_S)
        self._watching = False

    async def _is_known(self, transaction: TxnId) -> bool:
        assert self._context.take_part is not None, "it was there when this began"
        if await self._context.take_part(transaction, self._topic, self._subscription):
            return True
        log.warning(
            "transaction.unknown topic=%s subscription=%s txn=%s: its coordinator knows of no such "
            "transaction, which is aborted here",
            self._topic,
            self._subscription,
            transaction,
        )
        await self._abort(transaction)
        return False
