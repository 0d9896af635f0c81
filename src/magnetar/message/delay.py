"""Which entries ask to be delivered later: told as they arrive, and few are looked into. Pure."""

from magnetar.errors import CorruptEntry

from . import metadata
from .columns import anywhere

_PRODUCER_NAME = 0x0A  # its tag
_DELIVER_AT = b"\x98\x01"  # the tag of deliver_at_time

PLAIN_REST = 2 + 1 + 1 + 6
"""Bytes of metadata beside a producer's name and a sequence id, where there is only a publish time.

Those of three tags, of the name's size, and of a time since 1971. No time of delivery since 1971
has room in there, however small the publish time may be; one before that is no delay.
"""


def asks_for_delay(entry: bytes) -> bool:
    """Whether an entry says when it is to be delivered; not if nobody can read it."""
    if entry.find(_DELIVER_AT, 4, 4 + int.from_bytes(entry[:4])) < 0:
        return False
    try:
        return metadata.has_delivery_time(entry)
    except CorruptEntry:
        return False


def none_asks(data: bytes, start: int, size: int, *, count: int, entry: int, sequence: int) -> bool:
    """Whether it is certain that none of the entries in records alike asks for a delay.

    Those are ``count`` records of ``size`` bytes, with the entry from ``entry`` on; the size of the
    metadata and what it begins with, a tag and a size, is the same in all. ``sequence`` is the size
    of the sequence id.
    """
    first = start + entry
    metadata_size, name_size = int.from_bytes(data[first : first + 4]), data[first + 5]
    if data[first + 4] != _PRODUCER_NAME or entry + 4 + metadata_size > size:
        return False
    if metadata_size - name_size <= PLAIN_REST + sequence:
        return True
    offsets = range(entry + 6 + name_size, entry + 4 + metadata_size)
    pair = (_DELIVER_AT[0], _DELIVER_AT[1])
    return not anywhere(data, start, size, count=count, offsets=offsets, pair=pair)
