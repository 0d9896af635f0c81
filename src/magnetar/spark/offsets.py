"""How far a topic was read: one offset per partition, as Spark's checkpoint keeps them. Pure.

An offset names *the last message that was read*, ``ledger:entry:batch``; a read between two
offsets is ``(start, end]``. Every offset that a read ended at was a message of the log when it was
written down, so nothing has to be known about what comes next: not whether the entry is a batch,
nor whether the ledger goes on. Offsets compare in log order:

    -1:-1:-1   nothing was read
    7:-1:-1    everything before ledger 7 was read
    7:3:-1     entry 3, a message of its own, was read
    7:4:0      of the batch in entry 4, the first message was read; the second comes next
    7:4:2147483647  entry 4 was read, whatever is in it: a place before a message, found by time

A batch may therefore be divided between two reads, and no message is in both or in neither.

As JSON: ``{"persistent://public/default/orders-partition-0": "7:4:0", ...}``. Beside the topics the
JSON may name the subscription that the query made for itself: Spark tells a source nothing of the
query or of its checkpoint, so what has to be there after a restart goes through the offsets. Where
the first micro-batch ends there is also where it begins: when that is run again, Spark asks anew
where a query begins, which by then may be elsewhere.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from magnetar.errors import InvalidValue
from magnetar.model.position import Position

_OFFSET = re.compile(r"(-1|\d{1,19}):(-1|\d{1,19}):(-1|\d{1,10})")

WHOLE_ENTRY = 2**31 - 1
"""A batch index behind all that there are."""


class Offset(NamedTuple):
    """The last message that was read of one partition. Compares in log order."""

    ledger_id: int
    entry_id: int
    batch_index: int = -1

    def __str__(self) -> str:
        return f"{self.ledger_id}:{self.entry_id}:{self.batch_index}"

    @property
    def names_a_message(self) -> bool:
        """False for a place before a ledger, where no message is."""
        return self.entry_id >= 0

    @property
    def is_place(self) -> bool:
        """Not one message is named, but all before another one."""
        return self.entry_id < 0 or self.batch_index == WHOLE_ENTRY

    @staticmethod
    def before(position: Position) -> "Offset":
        """Everything before an entry was read."""
        ledger_id, entry_id = position
        return Offset(ledger_id, entry_id - 1, WHOLE_ENTRY if entry_id else -1)

    @staticmethod
    def parse(text: str) -> "Offset":
        match = _OFFSET.fullmatch(text)
        if match is None:
            raise InvalidValue(
                f"'{text}' is not an offset: write 'ledger:entry:batch' of the last message read, "
                "for example '7:4:0', with batch -1 for a message outside a batch"
            )
        ledger_id, entry_id, batch_index = match.groups()
        return Offset(int(ledger_id), int(entry_id), int(batch_index))


NOTHING_READ = Offset(-1, -1, -1)

SUBSCRIPTION = "subscription"
"""The key, among those of topics, of the query's own subscription. No topic's full name is so."""

BEGIN = "begin"
"""The key of where a query began, in the offsets at both ends of its first micro-batch."""

MESSAGES_BEHIND = "messagesBehind"
"""The key of what a query's progress says about its lag, beside where topics end."""
SUBSCRIPTION_BACKLOG = "subscriptionBacklog"
"""The key of how many entries the query's subscription holds."""

Offsets: TypeAlias = Mapping[str, Offset]
"""The keys are the full names of partitions, and of topics without partitions."""


def to_json(offsets: Offsets, subscription: str | None = None) -> dict[str, str]:
    """What goes into the checkpoint, in the order of the names."""
    told = {topic: str(offsets[topic]) for topic in sorted(offsets)}
    return told if subscription is None else {**told, SUBSCRIPTION: subscription}


def from_json(value: Mapping[str, Any]) -> dict[str, Offset]:
    """The offsets of what ``to_json`` wrote. Raises InvalidValue."""
    return {topic: Offset.parse(text) for topic, text in value.items() if topic not in _NO_TOPICS}


_NO_TOPICS = (SUBSCRIPTION, BEGIN, MESSAGES_BEHIND, SUBSCRIPTION_BACKLOG)


def covers(done: Offsets, wanted: Offsets) -> bool:
    """Whether everything up to ``wanted`` was read, in each of its partitions."""
    return all(done.get(topic, NOTHING_READ) >= offset for topic, offset in wanted.items())
