"""Entries to append to a log, and the answer. Pure."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from magnetar.errors import MagnetarError
from magnetar.storage.managed_ledger.run import Traits

Stored = Callable[[int, int, MagnetarError | None], None]
"""Called with the ledger and the first entry's id when all is durable, or -1, -1 and the error."""


class Appendable(Protocol):
    """Entries to be appended to a log, as parallel lists that must not be changed any more."""

    @property
    def data(self) -> list[bytes]: ...

    @property
    def checksums(self) -> list[int]: ...

    @property
    def traits(self) -> Traits | None:
        """What the appender knows of them."""

    @property
    def size_bytes(self) -> int:
        """The sum of their lengths."""


class Entries(NamedTuple):
    """Entries to be appended, and nothing else."""

    data: list[bytes]
    checksums: list[int]
    traits: Traits | None
    size_bytes: int
