"""Many messages in one payload. Pure.

For each message ``size(4) SingleMessageMetadata body``: the size is that of the metadata, which in
turn tells that of the body. The metadata, here a *head*, says what is a message's own.
"""

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import TypeVar

from google.protobuf.message import DecodeError, EncodeError

from magnetar import inner
from magnetar.errors import CorruptEntry
from magnetar.inner.plain.batches import Single
from magnetar.proto import PulsarApi_pb2 as pb

from .metadata import text

R = TypeVar("R", bound=tuple[object, int, bytes, bytes])

_COMPACTED_OUT = b"\x20\x01"


def pack(
    payloads: list[bytes],
    *,
    first_sequence_id: int,
    details: Mapping[int, Single] | None = None,
) -> bytes:
    """The messages as one payload.

    They are numbered from ``first_sequence_id`` on. ``details`` has what is to be said of those,
    by index, that are more than their bytes; a sequence id there goes before the counted one.
    """
    singles = [details.get(index) for index in range(len(payloads))] if details else None
    return inner.pack(payloads, first_sequence_id, singles)


def unpack(payload: bytes, count: int) -> tuple[list[bytes], list[bytes]]:
    """Heads and bodies of ``count`` messages, as parallel lists. Raises CorruptEntry."""
    position, heads, bodies = inner.unpack(payload, 0, count)
    while len(heads) < count:  # The next one has a head of an unusual form.
        start = position + 4
        body = start + int.from_bytes(payload[position:start])
        end = body + _parsed(payload[start:body]).payload_size
        if end > len(payload) or end < body:
            raise CorruptEntry(f"message {len(heads)} of {count} in a batch does not end within it")
        heads.append(payload[start:body])
        bodies.append(payload[body:end])
        position, some_heads, some_bodies = inner.unpack(payload, end, count - len(heads))
        heads += some_heads
        bodies += some_bodies
    return heads, bodies


def unpack_as(
    kind: type[R], owner: object, payload: bytes, count: int, *, start: int = 0
) -> list[R]:
    """As ``unpack``: of each message owner, index, head and body, as a tuple of this kind.

    The messages begin at ``start`` of the payload.
    """
    found = inner.unpack_as(kind, owner, payload, start, count)
    if len(found) == count:
        return found
    rows = zip(repeat(owner, count), range(count), *unpack(payload[start:], count), strict=True)
    return list(map(tuple.__new__, repeat(kind), rows))


def columns(  # noqa: PLR0917 - as those of ``inner``
    payloads: list[bytes],
    starts: list[int],
    counts: list[int],
    firsts: list[int],
    stops: list[int],
    wanted: int,
) -> tuple[int, list[bytes]]:
    """Of several payloads the messages from one index to before another, column by column.

    They begin at ``starts``. ``inner.columns`` tells the buffers of each. Raises CorruptEntry, and
    ValueError for 2 GiB in one.
    """
    found = inner.columns(payloads, starts, counts, firsts, stops, wanted)
    if found is None:  # Some head has an unusual form.
        parts = (payload[start:] for payload, start in zip(payloads, starts, strict=True))
        again = list(map(_rewritten, parts, counts))
        found = inner.columns(again, [0] * len(again), counts, firsts, stops, wanted)
        assert found is not None, "heads as they are written here have the usual form"
    return found


def _rewritten(payload: bytes, count: int) -> bytes:
    """The messages with heads encoded as Magnetar writes them."""
    heads, bodies = unpack(payload, count)
    return inner.pack(bodies, None, list(map(parse_single, heads)))


def bits_left(heads: Sequence[bytes]) -> int:
    """Which messages compaction has left, one bit for each. Raises CorruptEntry."""
    return sum(
        1 << index
        for index, head in enumerate(heads)
        if _COMPACTED_OUT not in head or not parse_single(head).compacted_out
    )


def parse_single(head: bytes) -> Single:
    """Decode a head. Raises CorruptEntry."""
    found = _parsed(head)
    return Single(
        text(found.partition_key) if found.HasField("partition_key") else None,
        found.partition_key_b64_encoded,
        found.ordering_key if found.HasField("ordering_key") else None,
        {text(pair.key): text(pair.value) for pair in found.properties},
        found.event_time if found.HasField("event_time") else None,
        found.sequence_id if found.HasField("sequence_id") else None,
        found.null_value,
        found.compacted_out,
    )


def _parsed(head: bytes) -> pb.SingleMessageMetadata:
    try:
        found = pb.SingleMessageMetadata.FromString(head)
        found.SerializeToString()  # finds missing fields, which parsing does not
    except (DecodeError, EncodeError) as error:
        raise CorruptEntry(f"a message of a batch that cannot be read: {error}") from error
    return found
