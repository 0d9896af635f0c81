"""The ids of new ledgers, which ascend: BookKeeper's LongZkLedgerIdGenerator.

A sequence of ZooKeeper's has 31 bits. When that of ``idgen`` is spent, ``idgen-long`` is made, and
stays: below it are directories, ``HOB-`` and the upper half of an id, with a sequence each for the
lower half. The last directory counts, and another follows when its sequence is spent.
"""

import re
from typing import Final, Protocol

from magnetar.storage.metadata.store import MetadataStore

from .ledger_paths import LONG_FROM

_DIRECTORY: Final = re.compile(r"HOB-(\d{10})")


class NumberingStore(MetadataStore, Protocol):
    """A metadata store that counts: ZooKeeper, by its sequential znodes."""

    async def next_number(self, path: str) -> int:
        """A number that is greater than all before it of this path, which ends with a prefix.

        It has 31 bits: behind the greatest follow numbers below 0.
        """


class LedgerIds:
    """Gives ids to new ledgers below one root."""

    def __init__(self, metadata: NumberingStore, root: str) -> None:
        self._metadata = metadata
        self._short = f"{root}/idgen/ID-"
        self._long = f"{root}/idgen-long"
        self._upper: int | None = None  # Half of an id; 0: ids are short; None: nobody looked.

    async def next(self) -> int:
        """An id that no ledger had, but that another client may take meanwhile."""
        if self._upper is None:
            self._upper = await self._last_upper()
        while True:
            upper = self._upper
            path = f"{self._long}/HOB-{upper:010}/ID-" if upper else self._short
            lower = await self._metadata.next_number(path)
            if 0 <= lower < LONG_FROM:
                return upper << 32 | lower
            self._upper = max(await self._last_upper(), upper + 1)

    async def _last_upper(self) -> int:
        """That of the last directory; 0 where there is not even what is above them."""
        names = await self._metadata.children(self._long)
        found = [int(match[1]) for each in names if (match := _DIRECTORY.fullmatch(each))]
        there = found or await self._metadata.get(self._long) is not None
        return max(found, default=1) if there else 0
