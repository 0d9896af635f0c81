"""The record logs that transactions of a topic are kept in, and how it is known that there are any.

The log of the topic says so by its properties, which are in memory when it is open: a topic that
has no transactions asks for no log of them.
"""

from dataclasses import replace
from typing import Final

from magnetar.broker.topics.topic_context import TopicContext
from magnetar.errors import NotAllowed
from magnetar.model.names import TopicName
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.storage.record_log import RecordLog

OURS: Final = "magnetar.transactions."
"""How the names of these properties begin."""

PUBLISHED_BEHIND: Final = OURS + "published_behind"
"""The property of a log that has entries of transactions: the last entry before all of them."""
SNAPSHOTS: Final = OURS + "snapshots"
"""The property of a log that has a log of snapshots."""

_ACKNOWLEDGED: Final = OURS + "acknowledged."
"""Then the name of a subscription that has a log of pending acknowledgements."""


def buffer_log_name(topic: TopicName) -> TopicName:
    """The name of the log of a topic's snapshots, which is hidden as system topics are."""
    return replace(topic, local=f"{topic.local}__transaction_buffer_snapshot")


def pending_ack_log_name(topic: TopicName, subscription: str) -> TopicName:
    """The name of the log of a subscription's pending acknowledgements: Pulsar's."""
    return replace(topic, local=f"{topic.local}-{subscription}__transaction_pending_ack")


def acknowledged_in(subscription: str) -> str:
    """The property of a topic's log: a subscription has a log of pending acknowledgements."""
    return _ACKNOWLEDGED + subscription


async def buffer_log(context: TopicContext, topic: TopicName) -> RecordLog:
    """Open the log of a topic's snapshots. Raises what the stores raise."""
    return await _opened(context, buffer_log_name(topic), "__transaction_buffer")


async def pending_ack_log(context: TopicContext, topic: TopicName, subscription: str) -> RecordLog:
    """Open the log of a subscription's pending acknowledgements. Raises what the stores raise."""
    return await _opened(context, pending_ack_log_name(topic, subscription), "__pending_ack_state")


async def delete_logs(context: TopicContext, topic: TopicName, ledger: ManagedLedger) -> None:
    """Delete the logs that a topic has, which is being deleted. Raises what the stores raise."""
    if SNAPSHOTS in ledger.properties:
        await (await buffer_log(context, topic)).delete()
    for name in ledger.properties:
        if name.startswith(_ACKNOWLEDGED):
            subscription = name.removeprefix(_ACKNOWLEDGED)
            await (await pending_ack_log(context, topic, subscription)).delete()


async def _opened(context: TopicContext, name: TopicName, cursor_name: str) -> RecordLog:
    if context.open_records is None:
        raise NotAllowed("Transactions are not enabled.")
    return await context.open_records(name, cursor_name)
