"""JSON objects in the metadata store that only administrators read."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from magnetar.broker.record_cache import RecordCache
from magnetar.model.records import Json


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
