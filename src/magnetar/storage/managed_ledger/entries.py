"""What is appended to a log, and how it is answered. Pure."""

from collections.abc import Callable
from typing import NamedTuple

from magnetar.errors import MagnetarError
from magnetar.storage.managed_ledger.run import Traits

Stored = Callable[[int, int, MagnetarError | None], None]
"""Told the ledger and the first entry's id of what is durable, or -1, -1 and why it may not be."""


class Entries(NamedTuple):
    """Entries on their way into a log, as parallel lists that must not be changed any more.

    ``traits`` is what the appender knows of them, for whoever reads them while they are in memory;
    ``size_bytes`` is the sum of the entries' lengths.
    """

    data: list[bytes]
    checksums: list[int]
    traits: Traits | None
    size_bytes: int
