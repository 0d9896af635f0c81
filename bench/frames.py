"""Sends built beforehand, and frames counted without being parsed. Pure."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from struct import Struct

from magnetar.message.entry import checksum, join
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire import requests

from . import recordings
from .cases import Case

RING_BYTES_MAX = 4 * 1024 * 1024  # Of one connection's prebuilt frames, sent again and again.
RING_FRAMES_MAX = 2000
FIRST_SEQUENCE = 128  # Two bytes as a varint, as all that follow up to 16,383.
PRODUCERS_MAX = 127  # On a connection: their ids take one byte as a varint.
HEAD_SIZE = 10  # totalSize(4) commandSize(4) 08 type

SEND_RECEIPT, MESSAGE = 7, 9
PUBLISH_TIME_MS = 1_700_000_000_000
FAR_AHEAD_MS = 4_000_000_000_000  # In the year 2096.
SEED = 20_261_122  # Every broker, and every run, gets the same bytes.

_SIZE = Struct(">I").unpack_from
_BYTES = bytes(range(256))


class Ring:
    """Frames back to back, that the producers of a connection send in turn, round after round."""

    def __init__(self, frames: list[bytes], producers: Sequence[int], messages: int) -> None:
        self.data = b"".join(frames)
        self.ends = list(accumulate(map(len, frames)))  # Where each frame ends.
        self.producers = producers  # The ids of those who send them.
        self.messages_per_frame = messages / len(frames)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def frame_size(self) -> float:
        """In bytes, on the average."""
        return len(self.data) / len(self.ends)

    def size_of(self, first: int, count: int) -> int:
        """Bytes of ``count`` frames from number ``first`` on; number 0 follows the last one."""
        rounds, stop = divmod(first + count, len(self.ends))
        return rounds * len(self.data) + self._start(stop) - self._start(first)

    def whole_before(self, position: int) -> int:
        """How many frames end at ``position`` or before it."""
        return bisect_right(self.ends, position)

    def _start(self, number: int) -> int:
        return self.ends[number - 1] if number else 0


def ring(case: Case) -> Ring:
    """What one connection of a case sends, from producers 1 to ``producers_per_connection``."""
    if case.recorded:
        return _recorded(recordings.frames(case.recorded))
    producers = case.producers_per_connection
    if producers > PRODUCERS_MAX:
        raise ValueError(f"{producers} producers on a connection; at most {PRODUCERS_MAX}")
    chance = Random(SEED)
    first = entry_of(case, chance)
    rounds = min(RING_FRAMES_MAX, RING_BYTES_MAX // len(first)) // producers or 1
    entries = [first, *(entry_of(case, chance) for _ in range(rounds * producers - 1))]
    if case.delayed:
        late = range(case.delayed - 1, len(entries), case.delayed)
        if not late:
            raise ValueError(f"{case.name}: there are only {len(entries)} different entries")
        for number in late:
            entries[number] = entry_of(case, chance, deliver_at_ms=FAR_AHEAD_MS)
    return Ring(
        [
            b"".join(
                requests.send(
                    number % producers + 1,
                    FIRST_SEQUENCE + number // producers,
                    entry,
                    checksum(entry),
                    num_messages=case.batch,
                )
            )
            for number, entry in enumerate(entries)
        ],
        range(1, producers + 1),
        case.batch * len(entries),
    )


def _recorded(frames: list[bytes]) -> Ring:
    """Those of one producer."""
    commands = [
        pb.BaseCommand.FromString(frame[8 : 8 + int.from_bytes(frame[4:8], "big")]).send
        for frame in frames
    ]
    messages = sum(command.num_messages for command in commands)
    return Ring(frames, sorted({command.producer_id for command in commands}), messages)


def entry_of(case: Case, chance: Random, *, deliver_at_ms: int | None = None) -> bytes:
    """An entry of about ``case.size`` bytes in all; or a batch of messages, each of that size."""
    metadata = pb.MessageMetadata(producer_name="load", sequence_id=0, publish_time=PUBLISH_TIME_MS)
    if deliver_at_ms is not None:
        metadata.deliver_at_time = deliver_at_ms
    if case.keys:
        metadata.partition_key = f"{chance.randrange(case.keys):06}"
    for number in range(case.properties):
        value = f"{chance.getrandbits(96):024x}"[: chance.randint(8, 24)]
        metadata.properties.add(key=f"property-{number}", value=value)
    if case.batch == 1:
        head = metadata.SerializeToString()
        return join(head, _payload(max(_size(case, chance) - len(head) - 4, 1)))
    metadata.num_messages_in_batch = case.batch
    return join(
        metadata.SerializeToString(),
        b"".join(_message(_size(case, chance)) for _ in range(case.batch)),
    )


def _size(case: Case, chance: Random) -> int:
    spread = case.size * case.vary // 100
    return chance.randint(case.size - spread, case.size + spread)


def _message(size: int) -> bytes:
    """One of a batch."""
    head = pb.SingleMessageMetadata(payload_size=size).SerializeToString()
    return len(head).to_bytes(4, "big") + head + _payload(size)


def _payload(size: int) -> bytes:
    return (_BYTES * (size // 256 + 1))[:size]


class Counter:
    """Counts the receipts and messages of a stream, however it was cut, by their heads alone.

    Receipts are mostly of one size, so they are counted together: a slice with a stride is a column
    of their heads, and one comparison says how far all of them are alike.
    """

    def __init__(self) -> None:
        self.receipts = 0
        self.messages = 0
        self.message_bytes = 0  # Of all messages.
        self.others: list[bytes] = []  # Whole frames of any other kind.
        self._skip = 0  # So many bytes belong to a frame that was counted already.
        self.rest = b""  # The beginning of a frame, too short to say what it is, or an other one.

    def take(self, data: bytes | bytearray, stop: int) -> None:
        """Take ``data[:stop]``. It begins with ``rest``, which the caller has put there."""
        position = self._skip
        self._skip = 0
        last = stop - HEAD_SIZE  # Where a head may begin.
        while position <= last:
            (size,) = _SIZE(data, position)
            size += 4
            kind = data[position + 9]
            if kind == MESSAGE:
                self.messages += 1
                self.message_bytes += size
                position += size
            elif kind == SEND_RECEIPT:
                count = alike(data, position, size, (last - position) // size + 1)
                self.receipts += count
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
