"""Records of one size in a row of bytes, looked at column by column. Pure.

Byte n of all records is one slice with a stride, so what is asked of every record is answered by a
few C loops over all of them instead of a Python loop over each.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from struct import Struct

# Bytes of a varint by kind: with more to come, last, last and zero (which would not be the shortest
# form). The second table is for varints of one byte, where zero is as good as any.
_KINDS = bytes((not byte) + 2 * (byte > 0x7F) for byte in range(256))
_KINDS_SINGLE = bytes(2 * (byte > 0x7F) for byte in range(256))

_FEW = 64  # So few records are quicker compared head by head.


def count_alike(
    data: bytes,
    start: int,
    size: int,
    *,
    head_size: int,
    varints: Sequence[tuple[int, int]],
    also: tuple[int, int] | None = None,
    count_max: int,
) -> int:
    """How many records of ``size`` bytes from ``start`` on begin like the first one; at least 1.

    Their first ``head_size`` bytes must be equal, except for the ``varints``, given as offsets in
    the record: these may be any varints of the same length in shortest form, as the first one's
    must be. So must the bytes ``also``, behind the head. Looks at no more than ``count_max``
    records.
    """
    alike = min((len(data) - start) // size, count_max)
    places = tuple(varints)
    kinds, others = _kinds(places), _others(head_size, places, also)
    if alike <= _FEW:
        alike = _equal_parts(data, start, size, _parts(size, head_size, places, also), alike)
        others = ()
    stop = start + alike * size
    for offset in others:
        column = data[start + offset : stop : size]
        if column != column[:1] * alike:
            alike -= len(column.lstrip(column[:1]))
            stop = start + alike * size
    for offset, kind in kinds:
        column = data[start + offset : stop : size].translate(kind)
        if column != column[:1] * alike:
            alike -= len(column.lstrip(column[:1]))
            stop = start + alike * size
    return alike


def anywhere(
    data: bytes, start: int, size: int, *, count: int, offsets: range, pair: tuple[int, int]
) -> bool:
    """Whether two bytes may stand side by side in a record, both at one of the offsets.

    False is certain. True may be of two records: the first byte in one, the second in another.
    """
    stop = start + count * size
    columns = [data[start + offset : stop : size] for offset in offsets]
    return any(pair[0] in one and pair[1] in other for one, other in pairwise(columns))


def _equal_parts(data: bytes, start: int, size: int, parts: Struct, count: int) -> int:
    """How many of ``count`` records have the parts of the first one."""
    with memoryview(data) as view, view[start : start + count * size] as records:
        heads = list(parts.iter_unpack(records))
    first = heads[0]
    if heads.count(first) == count:
        return count
    return next(index for index, head in enumerate(heads) if head != first)


@lru_cache(maxsize=256)
def _parts(
    size: int,
    head_size: int,
    varints: tuple[tuple[int, int], ...],
    also: tuple[int, int] | None,
) -> Struct:
    """What unpacks a record into all that must be equal: its head without varints, and ``also``."""
    layout, at = "", 0
    for first, behind in varints:
        layout += f"{first - at}s{behind - first}x"
        at = behind
    layout, at = f"{layout}{head_size - at}s", head_size
    if also is not None:
        layout, at = f"{layout}{also[0] - at}x{also[1] - also[0]}s", also[1]
    return Struct(f"{layout}{size - at}x")


@lru_cache(maxsize=256)
def _others(
    head_size: int, varints: tuple[tuple[int, int], ...], also: tuple[int, int] | None
) -> tuple[int, ...]:
    """The offsets of the same."""
    known = {offset for span in varints for offset in range(*span)}
    head = [offset for offset in range(head_size) if offset not in known]
    return (*head, *range(*(also or (0, 0))))


@lru_cache(maxsize=256)
def _kinds(varints: tuple[tuple[int, int], ...]) -> tuple[tuple[int, bytes], ...]:
    """Which table says what a byte of a varint is, by its offset."""
    return tuple(
        (offset, _KINDS if behind - first > 1 else _KINDS_SINGLE)
        for first, behind in varints
        for offset in range(first, behind)
    )
