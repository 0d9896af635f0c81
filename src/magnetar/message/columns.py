"""Records of one size in a row of bytes, looked at column by column. Pure.

Byte n of all records is one slice with a stride, so what is asked of every record is answered by a
few C loops over all of them instead of a Python loop over each.
"""

from collections.abc import Sequence

# Bytes of a varint by kind: with more to come, last, last and zero (which would not be the shortest
# form). The second table is for varints of one byte, where zero is as good as any.
_KINDS = bytes((not byte) + 2 * (byte > 0x7F) for byte in range(256))
_KINDS_SINGLE = bytes(2 * (byte > 0x7F) for byte in range(256))


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
    kinds: dict[int, bytes] = {}
    for first, behind in varints:
        table = _KINDS if behind - first > 1 else _KINDS_SINGLE
        kinds.update(dict.fromkeys(range(first, behind), table))
    alike = min((len(data) - start) // size, count_max)
    for offset in range(head_size):
        column = data[start + offset : start + alike * size : size]
        if offset in kinds:
            column = column.translate(kinds[offset])
        same = column[:1]
        if column != same * alike:
            alike -= len(column.lstrip(same))
    return alike
