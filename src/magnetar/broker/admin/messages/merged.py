"""Pages of a partitioned topic: those of its partitions as one, in the order of publishing. Pure.

Where such a page goes on is said for each partition: ``0=12:40,1=13:7:2``; a partition that has
nothing left is not named.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Final, NamedTuple

from magnetar.errors import InvalidValue

from .page import PAGE_BYTES_MAX, Page, Place, Scan
from .stored import StoredMessage

PARTITIONS_MAX: Final = 64
"""Partitions whose pages are merged; of a topic with more, one partition is asked for."""


class Found(NamedTuple):
    """A message, and the partition that has it; -1 for that of a topic without any."""

    partition: int
    message: StoredMessage


def merged(
    pages: Mapping[int, Page], count: int, *, backwards: bool
) -> tuple[list[Found], dict[int, Place]]:
    """The first ``count`` messages of all pages, and where each partition goes on."""
    found = sorted(
        chain.from_iterable(
            [Found(partition, each) for each in page.messages] for partition, page in pages.items()
        ),
        key=lambda each: each.message.publish_time_ms,
        reverse=backwards,
    )
    taken, size = 0, 0
    for each in found[:count]:
        size += each.message.size
        if taken and size > PAGE_BYTES_MAX:
            break
        taken += 1
    places = {partition: page.next for partition, page in pages.items() if page.next is not None}
    left: dict[int, Place] = {}
    for partition, message in found[taken:]:
        left.setdefault(partition, Place(*message.id))
    return found[:taken], places | left


def scanned(pages: Mapping[int, Page]) -> Scan:
    """How far was looked in all of them."""
    total = Scan()
    for page in pages.values():
        scan = page.scan
        total.entries += scan.entries
        total.messages += scan.messages
        total.bytes += scan.bytes
        total.first = total.first or scan.first
        total.last = scan.last or total.last
    return total


def token(places: Mapping[int, Place]) -> str | None:
    """Where to go on, as text; None where nothing is left."""
    if not places:
        return None
    if -1 in places:
        return str(places[-1])
    return ",".join(f"{partition}={place}" for partition, place in sorted(places.items()))


def places_of(text: str) -> dict[int, Place]:
    """What such a text says. Raises InvalidValue."""
    found = {}
    for part in text.split(","):
        partition, is_of_one, place = part.partition("=")
        found[_number(partition, text) if is_of_one else -1] = _place(
            place if is_of_one else part, text
        )
    return found


def _place(part: str, text: str) -> Place:
    numbers = [_number(each, text) for each in part.split(":")]
    if not 2 <= len(numbers) <= 3:
        raise _no_place(text)
    return Place(*numbers)


def _number(part: str, text: str) -> int:
    if not (part.isascii() and part.isdigit() and len(part) < 20):
        raise _no_place(text)
    return int(part)


def _no_place(text: str) -> InvalidValue:
    return InvalidValue(
        f"{text!r:.80} is no place in a topic: send earliest, latest, ledger:entry, "
        "ledger:entry:batchIndex, a time, or what `next` of a page said"
    )
