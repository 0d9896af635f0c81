"""Records of the metadata store: cached, and dropped when a watch says that they have changed."""

from collections.abc import Callable
from dataclasses import field
from typing import Final, Protocol, Self, TypeVar, cast

from magnetar.errors import Conflict, CorruptEntry, InvalidValue, VersionMismatch
from magnetar.late_dataclass import dataclass
from magnetar.storage.codec.codec import Codec
from magnetar.storage.codec.json_object import Json
from magnetar.storage.metadata.store import ABSENT, MetadataStore

RECORDS_MAX: Final = 50_000
ATTEMPTS_MAX: Final = 20  # To change a record that others change at the same time.


class TypedRecord(Protocol):
    """A record of ``model/records.py``. Do not change it in place: the cache shares it."""

    def to_json(self) -> Json: ...


T = TypeVar("T", bound=TypedRecord)


class RecordCache:
    """The records at and below some paths, parsed. This process reads what it wrote at once."""

    def __init__(
        self,
        metadata: MetadataStore,
        *prefixes: str,
        codec: Codec,
        records_max: int = RECORDS_MAX,
    ) -> None:
        self._metadata = metadata
        self._codec = codec
        self._kept: dict[str, TypedRecord | None] = {}  # None: known to be absent.
        self._changes = 0  # Counts drops, so that a value read before a drop is not kept.
        self._prefixes = prefixes
        self._records_max = records_max
        self._watches = [metadata.watch(prefix, self._drop) for prefix in prefixes]

    def close(self) -> None:
        """Stop watching. The cache must not be used afterwards."""
        for watch in self._watches:
            watch.cancel()
        self._kept.clear()

    async def get(self, path: str, parse: Callable[[Json], T]) -> T | None:
        """The record at ``path``, or None. Raises CorruptEntry."""
        if path in self._kept:
            return cast("T | None", self._kept[path])
        changes = self._changes
        record = await self._metadata.get(path)
        value = None if record is None else self._parsed(path, record.value, parse)
        if changes == self._changes:
            if len(self._kept) >= self._records_max:
                del self._kept[next(iter(self._kept))]
            self._kept[path] = value
        return value

    async def children(self, path: str) -> list[str]:
        return await self._metadata.children(path)

    async def create(self, path: str, value: TypedRecord) -> bool:
        """Write a record that must not exist yet; False when it does."""
        return await self._put(path, value, ABSENT)

    async def change(self, path: str, parse: Callable[[Json], T], change: Callable[[T], T]) -> bool:
        """Replace a record by what ``change`` makes of it; False when there is none.

        ``change`` is called again when somebody else was faster, and may raise to leave the record
        as it is. Raises Conflict when somebody else was faster every time, and CorruptEntry.
        """
        for _ in range(ATTEMPTS_MAX):
            record = await self._metadata.get(path)
            if record is None:
                return False
            value = change(self._parsed(path, record.value, parse))
            if await self._put(path, value, record.version):
                return True
        raise Conflict(f"{path} is being changed by others, without end: try again later")

    async def delete(self, path: str) -> None:
        """Remove a record; absent is fine."""
        try:
            await self._metadata.delete(path)
        finally:
            self._drop(path)

    async def _put(self, path: str, value: TypedRecord, expected_version: int) -> bool:
        try:
            await self._metadata.put(
                path, self._codec.encode_object(value.to_json()), expected_version=expected_version
            )
        except VersionMismatch:
            return False
        finally:
            self._drop(path)
        return True

    def _parsed(self, path: str, value: bytes, parse: Callable[[Json], T]) -> T:
        """Raises CorruptEntry, which names the record."""
        try:
            return parse(self._codec.decode_object(value))
        except InvalidValue as error:
            raise CorruptEntry(
                f"The record at {path} cannot be read ({error}): restore it, or delete it to "
                "create anew what it describes"
            ) from error

    def _drop(self, path: str) -> None:
        """Forget a record, or all of them when the watch no longer knows which changed."""
        self._changes += 1
        if path in self._prefixes:
            self._kept.clear()
        self._kept.pop(path, None)


@dataclass(frozen=True, slots=True)
class _Object:
    value: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json) -> Self:
        return cls(value)

    def to_json(self) -> Json:
        return self.value


class JsonObjects:
    """One object at a path. What is read is shared: do not change it in place."""

    def __init__(self, records: RecordCache) -> None:
        self._records = records

    async def get(self, path: str) -> Json | None:
        """The object at a path; None: there never was one, or it is deleted."""
        found = await self._records.get(path, _Object.from_json)
        return None if found is None else found.value

    async def change(self, path: str, change: Callable[[Json], Json]) -> None:
        """Replace an object, {} where there is none, by what ``change`` makes of it.

        ``change`` is called again when somebody else was faster, and may raise to leave everything
        as it is.
        """

        def changed(stored: _Object) -> _Object:
            return _Object(change(stored.value))

        while not await self._records.change(path, _Object.from_json, changed):
            if await self._records.create(path, changed(_Object())):
                return

    async def put(self, path: str, **items: object) -> None:
        """Set items of an object, None to take one away."""

        def change(stored: Json) -> Json:
            return {key: item for key, item in {**stored, **items}.items() if item is not None}

        await self.change(path, change)

    async def delete(self, path: str) -> None:
        """Remove an object; absent is fine."""
        await self._records.delete(path)
