"""The ``traceparent`` that a client wrote into the properties of a message, or of a request. Pure.

It is found in the bytes: a property is a key and a value, each with its tag and size, and this key
and this value always have the same sizes. What is batched is looked into where it can be read.
"""

import re
from typing import Final, NamedTuple

from magnetar.errors import CorruptEntry
from magnetar.message import metadata
from magnetar.message.entry import payload_start

LOOKED_INTO_MAX: Final = 64 * 1024
"""Bytes of an entry in which it is looked for."""
_KEY: Final = b"\x0a\x0btraceparent\x12\x37"
_TEXT: Final = rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})"
_ANY: Final = re.compile(re.escape(_KEY) + _TEXT)
_SAMPLED: Final = re.compile(re.escape(_KEY) + _TEXT[:-13] + rb"([0-9a-f][13579bdf])")
_HEADER: Final = re.compile(_TEXT + rb"(?:-.*)?")


class Parent(NamedTuple):
    """The span that something was sent in."""

    trace_id: int
    span_id: int
    sampled: bool


def parent_of(entry: bytes) -> Parent | None:
    """The span that an entry was sent in: of a batch, that of its first message that is sampled."""
    if entry.find(_KEY, 0, LOOKED_INTO_MAX) < 0:
        return None
    try:
        start = payload_start(entry)
        found = _found(entry, 0, start)
        if found is None and metadata.parse(entry).is_plain_batch:
            found = _found(entry, start, LOOKED_INTO_MAX)
    except CorruptEntry:
        return None
    return found


def parent_in(header: str) -> Parent | None:
    """The span that a request was sent in, by its header."""
    match = _HEADER.fullmatch(header.strip().encode("ascii", "replace"))
    return None if match is None else _parent(match)


def _found(entry: bytes, start: int, stop: int) -> Parent | None:
    match = _SAMPLED.search(entry, start, stop) or _ANY.search(entry, start, stop)
    return None if match is None else _parent(match)


def _parent(match: re.Match[bytes]) -> Parent | None:
    """None for ids that stand for nothing, or a version that there cannot be."""
    version, *numbers = match.groups()
    trace_id, span_id, flags = (int(each, 16) for each in numbers)
    if version == b"ff" or not (trace_id and span_id):
        return None
    return Parent(trace_id, span_id, bool(flags & 1))
