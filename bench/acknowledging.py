"""Consumers that acknowledge what they get, as cheaply as they can.

A message names its entry in the bytes that an acknowledgement names it by, so these are cut out of
the one and put into the other. Permits come as those of a client with a receiver
queue: half a queue, once half of it was used.
"""

from struct import Struct

from magnetar.model.subscriptions import SubscriptionType
from magnetar.model.varint import varint
from magnetar.wire import requests

from .frames import HEAD_SIZE, MESSAGE, Counter
from .peer import Subscriber

RECEIVER_QUEUE = 1000  # Permits, as with Pulsar's clients.
LISTED_MAX = 1000  # Ids in one command.
CONSUMER_ID = 1

_ID_AT = (
    16  # Where a message id begins: 08 09 4a size 08 consumer 12 size, behind 8 bytes of sizes.
)


class IdCounter(Counter):
    """Counts messages once they are complete, and keeps the ids of their entries."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[bytes] = []  # ``08 ledger 10 entry`` of each message.

    def take(self, data: bytes | bytearray, stop: int) -> None:
        """Take ``data[:stop]``. It begins with ``rest``, which the caller has put there."""
        position = 0
        while stop - position >= HEAD_SIZE:
            size = 4 + int.from_bytes(data[position : position + 4], "big")
            if position + size > stop:
                break
            if data[position + 9] != MESSAGE:
                self.others.append(bytes(data[position : position + size]))
                position += size
                continue
            at = position + _ID_AT
            self.ids.append(bytes(data[at : at + _id_size(data, at)]))
            self.messages += 1
            position += size
        self.rest = bytes(data[position:stop])


def _id_size(data: bytes | bytearray, at: int) -> int:
    """Size of the ledger and the entry id at ``at``, tags and all."""
    assert data[at] == 0x08, "a message id begins with its ledger"
    end = at + 1
    for _ in range(2):
        while data[end] > 0x7F:
            end += 1
        end += 2  # Over the last byte of the varint, and the tag behind it.
    return end - at - 1


class Acknowledger(Subscriber):
    """A subscriber that acknowledges: ``each`` alone, in a ``list``, or ``cumulative``."""

    def __init__(
        self,
        address: tuple[str, int],
        topic: str,
        subscription: str,
        kind: SubscriptionType,
        acks: str,
    ) -> None:
        self._make = {"each": _each, "list": _in_lists, "cumulative": _cumulative}[acks]
        self._used = 0  # Permits, since the last that were asked for.
        self.acknowledged = 0
        super().__init__(address, topic, subscription, kind, permits=RECEIVER_QUEUE)

    def make_counter(self) -> Counter:
        self._ids = IdCounter()
        return self._ids

    def read(self) -> None:
        """Count what has arrived, acknowledge it, and ask for more."""
        super().read()
        ids = self._ids.ids
        if not ids:
            return
        self._ids.ids = []
        self.acknowledged += len(ids)
        out = self._make(ids)
        self._used += len(ids)
        halves, self._used = divmod(self._used, RECEIVER_QUEUE // 2)
        if halves:
            out += requests.flow(CONSUMER_ID, halves * (RECEIVER_QUEUE // 2))
        # The broker always reads what consumers say, so this does not wait long.
        self.socket.setblocking(True)
        self.socket.sendall(out)
        self.socket.setblocking(False)


def _command(ids: bytes, kind: int) -> bytes:
    """An ACK of message ids that are fields already; ``kind`` is 0 for individual."""
    ack = b"\x08%c\x10%c%b" % (CONSUMER_ID, kind, ids)
    command = b"\x08\x0a\x52%b%b" % (varint(len(ack)), ack)
    return Struct(">II").pack(4 + len(command), len(command)) + command


def _each(ids: list[bytes]) -> bytes:
    commands = []
    size = 0
    head = b""
    start = 0
    for index, one in enumerate(ids):
        if len(one) != size:
            commands.append(head + head.join(ids[start:index]) if index > start else b"")
            start, size = index, len(one)
            head = _command(b"\x1a%c%b" % (size, one), 0)[:-size]
    commands.append(head + head.join(ids[start:]))
    return b"".join(commands)


def _in_lists(ids: list[bytes]) -> bytes:
    fields = [b"\x1a%c%b" % (len(one), one) for one in ids]
    parts = range(0, len(fields), LISTED_MAX)
    return b"".join(_command(b"".join(fields[at : at + LISTED_MAX]), 0) for at in parts)


def _cumulative(ids: list[bytes]) -> bytes:
    return _command(b"\x1a%c%b" % (len(ids[-1]), ids[-1]), 1)
