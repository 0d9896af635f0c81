"""Which names a subscription may have."""

from typing import Final

from magnetar.errors import ProducerBusy
from magnetar.model.names import flaw
from magnetar.storage.managed_ledger.compaction import COMPACTION_CURSOR

RESERVED_SUBSCRIPTIONS: Final = ("pulsar.repl", "pulsar.dedup", COMPACTION_CURSOR)


def check_subscription_name(name: str) -> None:
    """Raises ProducerBusy for an invalid name, as Pulsar does."""
    if not name:
        raise ProducerBusy("Empty subscription name")
    if (found := flaw(name)) is not None:
        raise ProducerBusy(f"Invalid subscription name: {found}")
    if name.startswith(RESERVED_SUBSCRIPTIONS):
        raise ProducerBusy("Subscription with reserved subscription name attempted")
