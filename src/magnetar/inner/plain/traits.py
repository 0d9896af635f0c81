"""Looks into the metadata of entries: how many messages they hold, and what is unusual. Pure."""

import re

from .fields import UnusualForm, fields, is_pair

_PRODUCER_NAME = b"\x0a"
"""Every client writes the producer's name, field 1, first: other metadata is looked into."""

# The tags of deliver_at_time, marker_type, both halves of a transaction's id, and the uuid of a
# chunked message. Other bytes may look like them: then the entry is looked into in vain.
_UNUSUAL_TAG = re.compile(rb"[\x98\xa0\xb0\xb8\xd2]\x01").search
_UNUSUAL_IN_TRANSACTION = re.compile(rb"[\x98\xa0\xd2]\x01").search

_REQUIRED = {0x0A, 0x10, 0x18}  # Name of the producer, sequence id, publish time.
_PROPERTIES = 0x22
_NUM_MESSAGES = 0x58
# Names of clusters, keys, compression and size, event time, encryption's algorithm and parameter;
# and of two bytes each: schema, kinds of keys, a transaction, highest sequence id, null, and
# numbers of a chunk.
_OTHERS = {0x2A, 0x32, 0x3A, 0x40, 0x48, 0x60, 0x72, 0x7A}
_OTHERS |= {130, 136, 146, 176, 184, 192, 200, 216, 224, 232, 240}
_COUNT_MAX = 2**31 - 1


def look_into(data: list[bytes], counts: list[int]) -> tuple[list[int], list[int]]:
    """How many messages each entry holds, and the indexes of entries to be parsed as a whole.

    ``counts`` are what the producer said, 0 where it said nothing: the same list comes back when
    there was nothing to look into. Where the metadata is unusual, or in an unusual form, the count
    is 1 for the time being.
    """
    if len(data) != len(counts):
        raise ValueError("not as many counts as entries")
    found, unusual = counts, []
    for index, entry in enumerate(data):
        if is_usual(entry, counts[index]):
            continue
        end = 4 + int.from_bytes(entry[:4])
        if found is counts:
            found = list(counts)
        count = _usual_count(entry, end) if 4 <= len(entry) >= end else 0
        found[index] = count or 1
        if not count:
            unusual.append(index)
    return found, unusual


def is_usual(entry: bytes, message_count: int, transaction: bytes = b"") -> bool:
    """Whether nothing is unusual and the count, which its producer said, need not be looked up.

    ``transaction`` are the fields of the one that its producer said, which must be in it.
    """
    end = 4 + int.from_bytes(entry[:4])
    named = end > 4 and entry[4:5] == _PRODUCER_NAME
    search = _UNUSUAL_IN_TRANSACTION if transaction else _UNUSUAL_TAG
    return (
        message_count > 0
        and named
        and not search(entry, 4, end)
        and (not transaction or transaction in entry[4:end])
    )


def _usual_count(entry: bytes, end: int) -> int:
    """How many messages an entry holds; 0 where its metadata is not usual."""
    count, seen = 1, set()
    try:
        for tag, number, content in fields(entry, 4, end):
            if tag in _REQUIRED:
                seen.add(tag)
            elif tag == _NUM_MESSAGES and number <= _COUNT_MAX:
                count = max(number, 1)
            elif tag not in _OTHERS and not (tag == _PROPERTIES and is_pair(content)):
                return 0
    except UnusualForm:
        return 0
    return count if seen == _REQUIRED else 0
