"""Right bytes to begin with: recorded frames, frames of our own, entries of every kind."""

from collections.abc import Iterator
from functools import cache
from random import Random

from golden import conversation

from magnetar.errors import InvalidValue
from magnetar.inner.plain.batches import Single
from magnetar.message import batch, chunk, compression, metadata
from magnetar.message.compression import CompressionType
from magnetar.message.entry import checksum, join
from magnetar.message.metadata import ChunkInfo
from magnetar.model.position import Position
from magnetar.wire import replies, requests

FRAME_MAX = 16 * 1024  # Larger recorded ones are left out: nothing is found in them, slowly.
ACKS_WEIGHT = 20  # There are few, beside hundreds of recorded frames.
PUBLISHED_MS = 1_700_000_000_000


@cache
def recorded(direction: str) -> tuple[bytes, ...]:
    """Frames that clients (">") or Apache Pulsar ("<") sent, each once."""
    frames = {
        step.frame
        for name in conversation.names()
        for step in conversation.load(name).steps
        if step.kind == direction and 8 <= len(step.frame) <= FRAME_MAX
    }
    return tuple(sorted(frames))


@cache
def entries() -> tuple[bytes, ...]:
    """Single messages, batches of every compression, chunks; and some that are none of it."""
    return (*_singles(), *_batches(), *_chunks(), b"", b"\0\0\0\0", b"\xff" * 40)


def _singles() -> Iterator[bytes]:
    for sequence, fields in enumerate(
        (
            {},
            {"key": "k", "properties": {"p": "q"}, "event_time_ms": 5},
            {"key": "azE=", "key_b64": True, "ordering_key": b"\xff\0"},
            {"null_value": True, "highest_sequence_id": 2**63},
        )
    ):
        yield join(metadata.build("p", sequence, PUBLISHED_MS, **fields), b"payload" * sequence)


def _batches() -> Iterator[bytes]:
    plain = batch.pack([bytes([number]) * 30 for number in range(40)], first_sequence_id=100)
    mixed = batch.pack(
        [b"a", b"", b"ccc"],
        first_sequence_id=0,
        details={1: Single(key="k", properties={"p": "q"}, null_value=True)},
    )
    for payload, count in ((plain, 40), (mixed, 3)):
        for kind in CompressionType:
            head = metadata.build(
                "p",
                7,
                PUBLISHED_MS,
                message_count=count,
                compression=kind,
                uncompressed_size=len(payload),
            )
            yield join(head, compression.compress(kind, payload))


def _chunks() -> Iterator[bytes]:
    parts = chunk.split(bytes(range(256)) * 2, 200)
    for index, part in enumerate(parts):
        place = ChunkInfo("p-7", index, len(parts), 512)
        yield join(metadata.build("p", 7, PUBLISHED_MS, chunk=place), part)


def send(producer_id: int, sequence_id: int, entry: bytes, **fields: int) -> bytes:
    return b"".join(requests.send(producer_id, sequence_id, entry, checksum(entry), **fields))


@cache
def sends() -> tuple[bytes, ...]:
    """Runs as producers send them, several frames in one piece of bytes."""
    singles = [join(metadata.build("p", n, PUBLISHED_MS), bytes([n]) * 60) for n in range(60)]
    return (
        b"".join(send(1, number, entry) for number, entry in enumerate(singles)),
        b"".join(send(1, 120 + n, entry, num_messages=9) for n, entry in enumerate(singles)),
        b"".join(
            send(n % 3, n, entry, highest_sequence_id=n + 5)
            for n, entry in enumerate(entries()[3:9])
        ),
        *(send(2, 5, entry) for entry in entries() if entry),
        send(1, 1, join(metadata.build("p", 1, PUBLISHED_MS), bytes(60_000))),
    )


@cache
def acks() -> tuple[bytes, ...]:
    """Runs of acknowledgements, one by one and in lists."""
    places = [Position(7, 100 + number) for number in range(30)]
    return (
        b"".join(requests.ack(1, [place]) for place in places),
        b"".join(requests.ack(n % 2, [place]) for n, place in enumerate(places)),
        requests.ack(1, places),
        requests.ack(1, [*places, Position(300, 1), Position(2**63, 2**64 - 1), *places]),
        requests.ack(2, places[:3], ack_sets=[[1], [], [5, 6]]),
        requests.ack(2, places[:1], cumulative=True, request_id=9),
    )


@cache
def to_broker() -> tuple[bytes, ...]:
    """What a client may send."""
    return recorded(">") + sends() + acks() * ACKS_WEIGHT


@cache
def to_client() -> tuple[bytes, ...]:
    """What a broker may send."""
    messages = tuple(
        b"".join(
            replies.message(1, Position(1, n), partition=-1, entry=entry, checksum=checksum(entry))
        )
        for n, entry in enumerate(entries())
        if entry
    )
    return recorded("<") + messages + (replies.error(1, InvalidValue("no")), replies.ping())


def any_of(chance: Random) -> bytes:
    """One of all frames."""
    return chance.choice(to_broker() if chance.random() < 0.7 else to_client())
