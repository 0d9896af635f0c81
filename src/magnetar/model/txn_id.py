"""The id of a transaction. Pure."""

from typing import NamedTuple


class TxnId(NamedTuple):
    """A transaction: number ``least_bits`` of the coordinator ``most_bits``."""

    most_bits: int
    least_bits: int

    def __str__(self) -> str:
        return f"({self.most_bits},{self.least_bits})"
