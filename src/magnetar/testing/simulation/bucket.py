"""A model of the place where offloaded ledgers go, and an offloader without processes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

from magnetar.clock import Clock
from magnetar.errors import StorageError
from magnetar.storage.ledger.store import LedgerEntries, LedgerReader

TOGETHER_MAX: Final = 5
"""So many entries of a ledger are read at once."""


@dataclass
class Copy:
    """A copy of a ledger, or what there is of one."""

    data: list[bytes] = field(default_factory=list)
    checksums: list[int] = field(default_factory=list)
    complete: bool = False


class Bucket:
    """Keeps copies of ledgers, by their names: it outlives all processes."""

    def __init__(self, random: Random) -> None:
        self.copies: dict[str, Copy] = {}
        self.delay_s = (0.005, 0.2)
        self.fails = False
        self._random = random

    async def answer(self, clock: Clock) -> None:
        """Take the time of one request. Raises StorageError while it fails."""
        await clock.sleep(self._random.uniform(*self.delay_s))
        if self.fails:
            raise StorageError("the bucket does not answer")

    def offloader(self, clock: Clock) -> "BucketOffloader":
        return BucketOffloader(self, clock)


class BucketOffloader:
    """In the place of ``HistoryOffloader``."""

    def __init__(self, bucket: Bucket, clock: Clock) -> None:
        self._bucket = bucket
        self._clock = clock

    async def offload(
        self, ledger: LedgerReader, properties: Mapping[str, str], _secrets: Mapping[str, str]
    ) -> Mapping[str, str]:
        copy = Copy()
        last = ledger.end.last_entry_id
        while len(copy.data) <= last:
            found = await ledger.read(len(copy.data), TOGETHER_MAX, 1024 * 1024)
            await self._bucket.answer(self._clock)
            copy.data += found.data
            copy.checksums += found.checksums
            self._bucket.copies[properties["name"]] = copy
        copy.complete = True
        return {}

    async def read(
        self,
        properties: Mapping[str, str],
        _secrets: Mapping[str, str],
        *,
        first: int,
        count_max: int,
        bytes_max: int,
    ) -> LedgerEntries:
        await self._bucket.answer(self._clock)
        copy = self._bucket.copies.get(properties["name"])
        if copy is None or not copy.complete:
            raise StorageError(f"there is no whole copy {properties['name']}")
        end, size = first, 0
        while (
            end < len(copy.data) and end - first < count_max and (end == first or size < bytes_max)
        ):
            size += len(copy.data[end])
            end += 1
        return LedgerEntries(copy.data[first:end], copy.checksums[first:end])

    async def delete(self, properties: Mapping[str, str], _secrets: Mapping[str, str]) -> None:
        await self._bucket.answer(self._clock)
        self._bucket.copies.pop(properties["name"], None)

    async def close(self) -> None:
        """There is nothing left."""
