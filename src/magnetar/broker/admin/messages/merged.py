"""Pages of a partitioned topic: those of its partitions as one, in the order of publishing. Pure.

Where such a page goes on is said for each partition: ``0=12:40,1=13:7:2``; a partition that has
nothing left is not named.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from magnetar.errors import InvalidValue

from .page import PAGE_BYTES_MAX, PageCursor

Json: TypeAlias = dict[str, Any]

PARTITIONS_MAX: Final = 64
"""Partitions whose pages are merged; of a topic with more, one partition is asked for."""


def merged(pages: Mapping[int, Json], count: int, *, backwards: bool) -> Json:
    """One page of those of partitions: the first ``count`` messages, and where each goes on."""
    found = sorted(
        ((index, each) for index, page in pages.items() for each in page["messages"]),
        key=lambda each: int(each[1]["publishTime"]),
        reverse=backwards,
    )
    taken, size = 0, 0
    for _, message in found[:count]:
        size += message["size"]
        if taken and size > PAGE_BYTES_MAX:
            break
        taken += 1
    left: dict[int, str] = {}
    for index, message in found[taken:]:
        left.setdefault(index, _place_text(message["id"]))
    places = {index: page["next"] for index, page in pages.items() if page["next"]} | left
    scans = [page["scanned"] for page in pages.values()]
    ends = {
        "first": next((each["first"] for each in scans if each["first"]), None),
        "last": next((each["last"] for each in reversed(scans) if each["last"]), None),
    }
    sums = {key: sum(each[key] for each in scans) for key in ("entries", "messages", "bytes")}
    return {
        "messages": [message for _, message in found[:taken]],
        "next": ",".join(f"{index}={place}" for index, place in sorted(places.items())) or None,
        "scanned": {**sums, "complete": not places, **ends},
    }


def _place_text(sent: Json) -> str:
    return str(PageCursor(sent["ledgerId"], sent["entryId"], sent["batchIndex"]))


def places_of(text: str) -> dict[int, PageCursor]:
    """What such a text says. Raises InvalidValue."""
    found = {}
    for part in text.split(","):
        partition, is_of_one, place = part.partition("=")
        found[_number(partition, text) if is_of_one else -1] = _place(
            place if is_of_one else part, text
        )
    return found


def _place(part: str, text: str) -> PageCursor:
    numbers = [_number(each, text) for each in part.split(":")]
    if not 2 <= len(numbers) <= 3:
        raise _no_place(text)
    return PageCursor(*numbers)


def _number(part: str, text: str) -> int:
    if not (part.isascii() and part.isdigit() and len(part) < 20):
        raise _no_place(text)
    return int(part)


def _no_place(text: str) -> InvalidValue:
    return InvalidValue(
        f"{text!r:.80} is no place in a topic: send earliest, latest, ledger:entry, "
        "ledger:entry:batchIndex, a time, or what `next` of a page said"
    )
