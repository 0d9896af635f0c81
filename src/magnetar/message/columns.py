"""Records of one size in a row of bytes, looked at column by column. Pure.

Byte n of all records is one slice with a stride, so what is asked of every record is answered by a
few C loops over all of them instead of a Python loop over each.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
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
    count_max: int,
) -> int:
    """How many records of ``size`` bytes from ``start`` on begin like the first one; at least 1.

    Their first ``head_size`` bytes must be equal, except for the ``varints``, given as offsets in
    the record: these may be any varints of the same length in shortest form, as the first one's
    must be. Looks at no more than ``count_max`` records.
    """
    alike = min((len(data) - start) // size, count_max)
    places = tuple(varints)
    kinds = _kinds(places)
    offsets: Iterable[int] = range(head_size)
    if alike <= _FEW:
        alike = _equal_parts(data, start, size, _parts(size, head_size, places), alike)
        offsets = kinds
    for offset in offsets:
        column = data[start + offset : start + alike * size : size]
        if offset in kinds:
            column = column.translate(kinds[offset])
        same = column[:1]
        if column != same * alike:
            alike -= len(column.lstrip(same))
    return alike


def _equal_parts(data: bytes, start: int, size: int, parts: Struct, count: int) -> int:
    """How many of ``count`` records have the parts of the first one."""
    with memoryview(data) as view, view[start : start + count * size] as records:
        heads = list(parts.iter_unpack(records))
    first = heads[0]
    if heads.count(first) == count:
        return count
    return next(index for index, head in enumerate(heads) if head != first)


@lru_cache(maxsize=256)
def _parts(size: int, head_size: int, varints: tuple[tuple[int, int], ...]) -> Struct:
    """What unpacks a record into all of its head that is no varint."""
    layout, at = "", 0
    for first, behind in varints:
        layout += f"{first - at}s{behind - first}x"
        at = behind
    return Struct(f"{layout}{head_size - at}s{size - head_size}x")


@lru_cache(maxsize=256)
def _kinds(varints: tuple[tuple[int, int], ...]) -> dict[int, bytes]:
    """Which table says what a byte is, by its offset."""
    kinds: dict[int, bytes] = {}
    for first, behind in varints:
        table = _KINDS if behind - first > 1 else _KINDS_SINGLE
        kinds.update(dict.fromkeys(range(first, behind), table))
    return kinds
