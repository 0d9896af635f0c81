"""The end of a topic: nothing is published to it any more, and who has read it all hears so.

That it has ended is a property of its log, written when everything that was taken is stored, and
before any client hears of it: it survives whatever becomes of the broker.
"""

from collections.abc import Callable, Mapping
from typing import Final

from magnetar.broker.topics.publishing.topic_producers import TopicProducers
from magnetar.broker.topics.publishing.topic_writer import TopicWriter
from magnetar.broker.topics.subscriptions.persistent_subscription import PersistentSubscription
from magnetar.errors import MagnetarError, TopicTerminated
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger

TERMINATED_AT: Final = "pulsar.terminated.position"
"""The property of a log that ended: its last entry, ``ledger:entry``."""


def terminated_at(ledger: ManagedLedger) -> Position | None:
    """The last entry of a topic that has ended, (ledger, -1) without any; None: it goes on."""
    value = ledger.properties.get(TERMINATED_AT)
    if value is None:
        return None
    ledger_id, _, entry_id = value.partition(":")
    return Position(int(ledger_id), int(entry_id))


def check_goes_on(ledger: ManagedLedger) -> None:
    """Raises TopicTerminated."""
    if TERMINATED_AT in ledger.properties:
        raise TopicTerminated("Topic was already terminated")


async def terminate(
    ledger: ManagedLedger,
    writer: TopicWriter,
    producers: TopicProducers,
    subscriptions: Mapping[str, PersistentSubscription],
    failed: Callable[[], None],
) -> Position:
    """End a topic, or tell its consumers again that it has ended. Returns its last entry.

    What was taken before is stored and answered. Raises what the stores raise, and calls
    ``failed``: the topic must be opened again, and may have ended or not.
    """
    last = terminated_at(ledger)
    if last is None:
        await writer.close()
        last = terminated_at(ledger) or ledger.last_position  # Another may have been faster.
        try:
            await ledger.change_properties({TERMINATED_AT: str(last)})
        except MagnetarError:
            failed()
            raise
        producers.disconnect()
    for subscription in list(subscriptions.values()):
        subscription.end()
    return last
