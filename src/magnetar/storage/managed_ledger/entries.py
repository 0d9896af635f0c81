"""What is appended to a log, and how it is answered. Pure."""

from collections.abc import Callable
from typing import NamedTuple

from magnetar.errors import MagnetarError
from magnetar.storage.managed_ledger.run import Traits

Stored = Callable[[int, int, MagnetarError | None], None]
"""Called with the ledger and the first entry's id when all is durable, or -1, -1 and the error."""


class Entries(NamedTuple):
    """Entries to be appended to a log, as parallel lists that must not be changed any more.

    ``traits`` is what the appender knows of them; ``size_bytes`` is the sum of their lengths.
    """

    data: list[bytes]
    checksums: list[int]
    traits: Traits | None
    size_bytes: int
