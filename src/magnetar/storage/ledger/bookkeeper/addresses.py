"""Where bookies listen. Pure."""

from typing import NamedTuple


class Address(NamedTuple):
    """Where a bookie listens."""

    host: str
    port: int
