"""The position of an entry, and the id of a message. Pure."""

from typing import NamedTuple

LONG_MAX = 2**63 - 1


class Position(NamedTuple):
    """An entry's place: entry ``entry_id`` (0-based) of ledger ``ledger_id``, in log order.

    ``entry_id`` -1 is the place before a ledger's first entry.
    """

    ledger_id: int
    entry_id: int

    def __str__(self) -> str:
        return f"{self.ledger_id}:{self.entry_id}"


def signed(number: int) -> int:
    """An unsigned number of 64 bits as Pulsar's brokers take it: the highest ones are negative."""
    return number if number <= LONG_MAX else number - 2**64


EARLIEST = Position(-1, -1)
LATEST = Position(LONG_MAX, LONG_MAX)


class MessageId(NamedTuple):
    """A message's id: its entry, its partition, and its index in a batch. Compares in log order.

    ``partition`` is -1 on a topic without partitions, ``batch_index`` -1 outside a batch.
    ``batch_size`` is the number of messages of the batch, 0 outside one.
    """

    ledger_id: int
    entry_id: int
    partition: int = -1
    batch_index: int = -1
    batch_size: int = 0

    @property
    def position(self) -> Position:
        return Position(self.ledger_id, self.entry_id)

    def __str__(self) -> str:
        tail = f":{self.batch_index}" if self.batch_index >= 0 else ""
        return f"{self.ledger_id}:{self.entry_id}:{self.partition}{tail}"


EARLIEST_MESSAGE = MessageId(*EARLIEST)
LATEST_MESSAGE = MessageId(*LATEST)
