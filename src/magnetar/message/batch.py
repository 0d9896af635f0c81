"""Many messages in one payload. Pure.

For each message ``size(4) SingleMessageMetadata body``: the size is that of the metadata, which in
turn tells that of the body. The metadata, here a *head*, says what is a message's own: mostly no
more than ``18 size 40 sequence``. Such plain messages are packed, and those that also have equal
sizes unpacked, by a few C loops over all of them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from struct import Struct

from google.protobuf.message import DecodeError, EncodeError

from magnetar.errors import CorruptEntry
from magnetar.inner.varint import stretches, varint, varint_value
from magnetar.proto import PulsarApi_pb2 as pb

from .columns import count_alike
from .metadata import text

# The size, which no head of this form exceeds in its last byte, and the head; both varints in
# shortest form.
_PLAIN = re.compile(
    rb"\0\0\0.\x18([\x00-\x7f]|[\x80-\xff]{1,3}[\x01-\x7f])"
    rb"\x40([\x00-\x7f]|[\x80-\xff]{1,8}[\x01-\x7f])",
    re.DOTALL,
).match
_STRETCH_MIN = 8  # shorter ones are quicker one by one
_STRETCH_MAX = 1024  # what a look ahead may cost in vain
_PREFIXES_MAX = 10_000


@dataclass(slots=True)
class Single:
    """What a message in a batch says of itself."""

    key: str | None = None
    key_b64: bool = False  # the key is bytes, written as base64
    ordering_key: bytes | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    event_time_ms: int | None = None
    sequence_id: int | None = None
    null_value: bool = False
    compacted_out: bool = False  # compaction removed it; its place in the batch remains


def pack(
    payloads: Sequence[bytes],
    *,
    first_sequence_id: int,
    details: Mapping[int, Single] | None = None,
) -> bytes:
    """The messages as one payload.

    They are numbered from ``first_sequence_id`` on. ``details`` has what is to be said of those,
    by index, that are more than their bytes; a sequence id there goes before the counted one.
    """
    pieces: list[bytes] = []
    start = 0
    details = details or {}
    for index in sorted(details):
        pieces += _plain(payloads[start:index], first_sequence_id + start)
        head = build_single(details[index], len(payloads[index]), first_sequence_id + index)
        pieces += [len(head).to_bytes(4), head, payloads[index]]
        start = index + 1
    pieces += _plain(payloads[start:], first_sequence_id + start)
    return b"".join(pieces)


def unpack(payload: bytes, count: int) -> tuple[list[bytes], list[bytes]]:
    """Heads and bodies of ``count`` messages, as parallel lists. Raises CorruptEntry."""
    heads: list[bytes] = []
    bodies: list[bytes] = []
    start = size_before = 0
    while len(heads) < count:
        plain = _PLAIN(payload, start)
        if plain is not None and plain.end() - start - 4 == payload[start + 3]:
            body = plain.end()
            end = body + varint_value(plain[1])
        else:
            plain = None
            body = start + 4 + int.from_bytes(payload[start : start + 4])
            end = body + _body_size(payload[start + 4 : body])
        if end > len(payload) or end < body:
            raise CorruptEntry(f"message {len(heads)} of {count} in a batch does not end within it")
        size = end - start
        if (
            plain is not None
            and size == size_before
            and payload.startswith(
                payload[start : plain.start(2)], start + (_STRETCH_MIN - 1) * size
            )
        ):
            some = _alike(payload, start, plain, end, count - len(heads))
            heads += some[0]
            bodies += some[1]
            start += len(some[0]) * size
        else:
            heads.append(payload[start + 4 : body])
            bodies.append(payload[body:end])
            start = end
        size_before = size
    return heads, bodies


def _alike(
    payload: bytes, start: int, first: re.Match[bytes], end: int, count_max: int
) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Heads and bodies from ``start`` on, as long as they are laid out as the first one."""
    size, head_size = end - start, first.end() - start
    count = count_alike(
        payload,
        start,
        size,
        head_size=head_size,
        varints=[(first.start(2) - start, first.end(2) - start)],
        count_max=min(_STRETCH_MAX, count_max),
    )
    with memoryview(payload) as view, view[start : start + count * size] as records:
        layout = Struct(f"4x{head_size - 4}s{size - head_size}s")
        heads, bodies = zip(*layout.iter_unpack(records), strict=True)
    return heads, bodies


def build_single(single: Single, size: int, sequence_id: int) -> bytes:
    """The head of a message with a body of ``size`` bytes; its own sequence id goes first."""
    if single.sequence_id is not None:
        sequence_id = single.sequence_id
    return pb.SingleMessageMetadata(
        properties=[pb.KeyValue(key=k, value=v) for k, v in single.properties.items()],
        partition_key=single.key,
        payload_size=size,
        compacted_out=single.compacted_out or None,
        event_time=single.event_time_ms,
        partition_key_b64_encoded=single.key_b64 or None,
        ordering_key=single.ordering_key,
        sequence_id=sequence_id,
        null_value=single.null_value or None,
    ).SerializeToString()


def parse_single(head: bytes) -> Single:
    """What a head says. Raises CorruptEntry."""
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


class _Prefixes(dict[int, bytes]):
    """By size of the body: all that stands before the sequence id, which has ``width`` bytes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self._width = width

    def __missing__(self, size: int) -> bytes:
        if len(self) >= _PREFIXES_MAX:
            self.clear()
        field = b"\x18%b\x40" % varint(size)
        self[size] = prefix = (len(field) + self._width).to_bytes(4) + field
        return prefix


_PREFIXES = [_Prefixes(width) for width in range(11)]


def _plain(payloads: Sequence[bytes], first_sequence_id: int) -> Iterator[bytes]:
    """The pieces of messages that are nothing but their bytes."""
    for stretch in stretches(first_sequence_id, len(payloads)):
        bodies = payloads[stretch.start : stretch.stop]
        prefixes = map(_PREFIXES[stretch.width].__getitem__, map(len, bodies))
        yield from chain.from_iterable(zip(prefixes, stretch.varints(), bodies, strict=True))


def _body_size(head: bytes) -> int:
    return _parsed(head).payload_size


def _parsed(head: bytes) -> pb.SingleMessageMetadata:
    try:
        found = pb.SingleMessageMetadata.FromString(head)
        found.SerializeToString()  # finds missing fields, which parsing does not
    except (DecodeError, EncodeError) as error:
        raise CorruptEntry(f"a message of a batch that cannot be read: {error}") from error
    return found
