"""A broker as a member of its cluster: what it writes there ends with its session."""

from collections.abc import Callable
from dataclasses import field

from magnetar.clock import Clock
from magnetar.late_dataclass import dataclass
from magnetar.model.broker_address import BrokerAddress
from magnetar.storage.codec.codec import Codec
from magnetar.storage.metadata.leases import Leases
from magnetar.storage.metadata.store import MetadataStore
from magnetar.tasks import Tasks


@dataclass(frozen=True, slots=True)
class Membership:
    """Who this broker is, and the session of the metadata store by which others know it."""

    metadata: MetadataStore
    own: BrokerAddress
    """What other brokers tell their clients of this one."""
    codec: Codec
    clock: Clock
    tasks: Tasks
    gone: set[BrokerAddress] = field(default_factory=set)
    """Brokers whose processes have ended before their sessions."""

    def leases(self, prefix: str, lost: Callable[[str], None]) -> Leases:
        """Leases below a path, in each of which this broker is named. ``lost``: see there."""
        value = self.codec.encode_owner(self.own)
        return Leases(
            self.metadata, prefix, value, lost=lost, tasks=self.tasks, is_void=self._is_void
        )

    async def broker_at(self, path: str) -> BrokerAddress | None:
        """The broker that the record at a path names; None where there is no record."""
        record = await self.metadata.get(path)
        return None if record is None else self.codec.decode_owner(record.value)

    def _is_void(self, holder: bytes) -> bool:
        return bool(self.gone) and self.codec.decode_owner(holder) in self.gone
