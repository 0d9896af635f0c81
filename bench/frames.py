"""Sends built beforehand, and frames counted without being parsed. Pure."""

from magnetar.message.entry import checksum, join
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire import requests

from .cases import Case

RING_BYTES_MAX = 4 * 1024 * 1024  # Of one connection's prebuilt frames, sent again and again.
RING_FRAMES_MAX = 2000
FIRST_SEQUENCE = 128  # Two bytes as a varint, as all that follow up to 16,383.
PRODUCERS_MAX = 127  # On a connection: their ids are one byte as a varint.
HEAD_SIZE = 10  # totalSize(4) commandSize(4) 08 type

SEND_RECEIPT, MESSAGE = 7, 9
_COUNTED = frozenset((SEND_RECEIPT, MESSAGE))
PUBLISH_TIME_MS = 1_700_000_000_000


class Ring:
    """Frames of one size, back to back, for the producers of a connection in turn."""

    def __init__(self, data: bytes, frame_size: int) -> None:
        self.data = data
        self.frame_size = frame_size
        self.frame_count = len(data) // frame_size


def ring(case: Case) -> Ring:
    """What one connection of a case sends, producers 1 to ``topics_per_connection``."""
    entries = [(entry, checksum(entry)) for entry in entries_of(case)]
    entry = entries[0][0]
    producers = case.topics_per_connection
    if producers > PRODUCERS_MAX:
        raise ValueError(f"{producers} topics on a connection; at most {PRODUCERS_MAX}")
    rounds = min(RING_FRAMES_MAX, RING_BYTES_MAX // len(entry)) // producers or 1
    frames = [
        b"".join(
            requests.send(
                producer,
                FIRST_SEQUENCE + number,
                *entries[number % len(entries)],
                num_messages=case.batch,
            )
        )
        for number in range(rounds)
        for producer in range(1, producers + 1)
    ]
    assert len({len(frame) for frame in frames}) == 1, "frames of one size"
    return Ring(b"".join(frames), len(frames[0]))


def entries_of(case: Case) -> list[bytes]:
    """The entries that are sent in turn, of one size: one, or one for each key."""
    return [entry_of(case, f"{key:06}") for key in range(case.keys)] or [entry_of(case)]


def entry_of(case: Case, key: str | None = None) -> bytes:
    """An entry of ``case.size`` bytes in all; or a batch of messages, each of that size."""
    metadata = pb.MessageMetadata(producer_name="load", sequence_id=0, publish_time=PUBLISH_TIME_MS)
    if key is not None:
        metadata.partition_key = key
    payload = bytes(range(256)) * (case.size // 256 + 1)
    if case.batch == 1:
        head = metadata.SerializeToString()
        return join(head, payload[: max(case.size - len(head) - 4, 1)])
    metadata.num_messages_in_batch = case.batch
    single = pb.SingleMessageMetadata(payload_size=case.size).SerializeToString()
    one = len(single).to_bytes(4, "big") + single + payload[: case.size]
    return join(metadata.SerializeToString(), one * case.batch)


class Counter:
    """Counts the receipts and messages of a stream, however it was cut, by their heads alone.

    Frames that are like the one before, in size and kind, are counted together: a slice with a
    stride is a column of their heads, and one comparison says how far it is all the same.
    """

    def __init__(self) -> None:
        self.receipts = 0
        self.messages = 0
        self.message_size = 0  # Of the last one.
        self.others: list[bytes] = []  # Whole frames of any other kind.
        self._skip = 0  # So many bytes belong to a frame that was counted already.
        self.rest = b""  # The beginning of a frame, too short to say what it is, or an other one.

    def take(self, data: bytes | bytearray, stop: int) -> None:
        """Take ``data[:stop]``. It begins with ``rest``, which the caller has put there."""
        position = self._skip
        self._skip = 0
        while stop - position >= HEAD_SIZE:
            size = 4 + int.from_bytes(data[position : position + 4], "big")
            kind = data[position + 9]
            if kind in _COUNTED:
                count = alike(data, position, size, (stop - position - HEAD_SIZE) // size + 1)
                if kind == SEND_RECEIPT:
                    self.receipts += count
                else:
                    self.messages += count
                    self.message_size = size
                position += count * size
            elif position + size <= stop:
                self.others.append(bytes(data[position : position + size]))
                position += size
            else:
                break
        self._skip = max(position - stop, 0)
        self.rest = bytes(data[position:stop])


def alike(data: bytes | bytearray, position: int, size: int, count: int) -> int:
    """How many of ``count`` frames from ``position`` on are of this size and one kind."""
    if count == 1:
        return 1
    for at in (3, 2, 9, 1, 0):
        first = position + at
        column = data[first : first + (count - 1) * size + 1 : size]
        value = column[:1]
        if column.count(value) != count:
            count -= len(column.lstrip(value))
    return count
