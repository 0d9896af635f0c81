"""The resource groups in the metadata store, and which of their limits hold now."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Self

from magnetar.broker.record_cache import RecordCache
from magnetar.errors import NotFound, Refused
from magnetar.late_dataclass import dataclass
from magnetar.model.policy_values import ResourceGroup
from magnetar.model.records import Json
from magnetar.storage.codec.codec import Codec
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore, Watch
from magnetar.tasks import Tasks

from .resources import Resources

NO_GROUP: Final = "ResourceGroup does not exist"


@dataclass(frozen=True, slots=True)
class _StoredGroup:
    """The record of a group."""

    group: ResourceGroup
    stored: Json

    @classmethod
    def from_json(cls, value: Json) -> Self:
        return cls(ResourceGroup.from_json(value), value)

    def to_json(self) -> Json:
        """The JSON that was read, with the changes since; unknown keys stay."""
        return {**self.stored, **self.group.to_json()}


class ResourceGroups:
    """Reads, changes and deletes them; who enforces one follows it. Made in a running loop."""

    def __init__(
        self, metadata: MetadataStore, resources: Resources, tasks: Tasks, *, codec: Codec
    ) -> None:
        self._metadata = metadata
        self._resources = resources
        self._tasks = tasks
        self._records = RecordCache(metadata, paths.RESOURCE_GROUPS, codec=codec)

    def close(self) -> None:
        """Stop watching the metadata store. This must not be used afterwards."""
        self._records.close()

    async def names(self) -> list[str]:
        return await self._records.children(paths.RESOURCE_GROUPS)

    async def get(self, name: str) -> ResourceGroup | None:
        found = await self._records.get(paths.resource_group(name), _StoredGroup.from_json)
        return None if found is None else found.group

    async def require(self, name: str) -> ResourceGroup:
        """A group that must exist. Raises NotFound."""
        group = await self.get(name)
        if group is None:
            raise NotFound(NO_GROUP)
        return group

    async def put(self, name: str, group: ResourceGroup) -> None:
        """Create a group, or change the limits that are given."""
        path = paths.resource_group(name)
        while not await self._records.change(
            path,
            _StoredGroup.from_json,
            lambda stored: replace(stored, group=stored.group.changed_by(group)),
        ):
            if await self._records.create(path, _StoredGroup(group, {})):
                return

    async def delete(self, name: str) -> None:
        """Raises NotFound, or Refused while a namespace is in the group."""
        await self.require(name)
        for tenant in await self._resources.tenants():
            for namespace in await self._resources.namespaces(tenant):
                stored = await self._resources.namespace(namespace)
                if stored is not None and stored.policies.resource_group == name:
                    raise Refused("ResourceGroup is in use")
        await self._records.delete(paths.resource_group(name))

    def follow(self, name: str, changed: Callable[[ResourceGroup | None], None]) -> Watch:
        """Call ``changed`` with a group as soon as it is read, and after each change.

        None: there is no such group. Nothing is called after the answer was cancelled.
        """
        return _Following(self, name, changed, self._metadata, self._tasks)


class _Following:
    """One who follows a group."""

    def __init__(
        self,
        groups: ResourceGroups,
        name: str,
        changed: Callable[[ResourceGroup | None], None],
        metadata: MetadataStore,
        tasks: Tasks,
    ) -> None:
        self._groups = groups
        self._name = name
        self._changed = changed
        self._tasks = tasks
        self._cancelled = False
        self._watch = metadata.watch(paths.resource_group(name), self._noticed)
        self._noticed(name)

    def cancel(self) -> None:
        self._cancelled = True
        self._watch.cancel()

    def _noticed(self, _: str) -> None:
        self._tasks.spawn(f"resource group {self._name}", self._tell())

    async def _tell(self) -> None:
        group = await self._groups.get(self._name)
        if not self._cancelled:
            self._changed(group)
