"""Target: records in the metadata store. CorruptEntry that names the record, or a topic that works.

Lists of ledgers and cursors as a topic opens them; tenants, namespaces and partitioned topics as
the broker asks for them. Somebody wrote into them, or a disk did.
"""

from random import Random

from fuzz.jsons import Jsons
from google_crc32c import value as crc32c
from unit.storage.managed_ledger.logs import acknowledge, append

from magnetar.broker.resource_groups import ResourceGroups
from magnetar.broker.resources import Resources
from magnetar.clock import SystemClock
from magnetar.errors import CorruptEntry, StorageError
from magnetar.message.entry_traits import EntryTraits
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.policy_values import (
    BacklogQuota,
    BacklogQuotaPolicy,
    DispatchRate,
    ResourceGroup,
    RetentionPolicies,
    SubscriptionPolicies,
)
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.storage.managed_ledger.managed_ledger_factory import ManagedLedgerFactory
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.tasks import Tasks

TOPIC = TopicName.parse("persistent://public/default/t-partition-1")
NAME = paths.managed_ledger_name(TOPIC)
CLUSTER = ("standalone", "http://h:1", "pulsar://h:2")
SETTINGS = ManagedLedgerSettings(entries_per_ledger_max=5, ledger_age_min_s=0)
ENTRIES_MAX = 100


class Records:
    """One log and one broker's records, in memory; each check starts from them as they were."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self._jsons = Jsons(chance)
        self.metadata = MemoryMetadataStore()
        self.ledgers = MemoryLedgerStore()
        self._tasks = Tasks("fuzz")
        self._values: dict[str, bytes] = {}

    async def prepare(self) -> None:
        """Write what is to be changed."""
        resources = Resources(self.metadata, codec=JsonCodec())
        await resources.ensure_defaults(*CLUSTER)
        await resources.create_partitioned_topic(TOPIC.partitioned_name, 3, {"p": "q"})
        await resources.topic_policies.change(
            TOPIC.partitioned_name,
            is_global=False,
            retention=RetentionPolicies(1, 2),
            backlog_quota_age=BacklogQuota(0, 5, BacklogQuotaPolicy.HOLD),
            subscription_types=("Shared",),
            of_subscriptions={"s": SubscriptionPolicies(DispatchRate(messages=1))},
        )
        groups = ResourceGroups(self.metadata, resources, self._tasks, codec=JsonCodec())
        await groups.put("g", ResourceGroup(1, 2, 3, 4))
        groups.close()
        resources.close()
        log = await self.open()
        cursor = await log.open_cursor("s", EARLIEST, properties={"a": "b"})
        for number in range(12):
            await append(log, [str(number).encode()], EntryTraits([8]))
        run = (await cursor.reader.read(3, 1000))[0]
        acknowledge(cursor, [run.first, *(Position(run.ledger_id, entry) for entry in (2, 4))])
        cursor.acknowledge_batch(Position(run.ledger_id, 3), [0b1111_0000])
        await log.close()
        await self._note("")

    async def _note(self, path: str) -> None:
        for child in await self.metadata.children(path or "/"):
            below = f"{path}/{child}"
            record = await self.metadata.get(below)
            if record is not None and record.value:
                self._values[below] = record.value
            await self._note(below)

    async def open(self) -> ManagedLedger:
        factory = ManagedLedgerFactory(
            codec=JsonCodec(),
            metadata=self.metadata,
            ledgers=self.ledgers,
            cache=EntryCache(1 << 20),
            clock=SystemClock(),
            tasks=self._tasks,
            settings=SETTINGS,
        )
        return await factory.open(NAME)

    async def check(self) -> str:
        """One record, changed; how it ended."""
        path = self.chance.choice(sorted(self._values))
        value = self._jsons.mutate(self._values[path])
        for other, right in self._values.items():
            await self.metadata.put(other, value if other == path else right)
        try:
            await (self._use_log() if path.startswith("/managed-ledgers") else self._ask(path))
        except CorruptEntry as error:
            if path not in str(error):
                raise AssertionError(f"an error that does not name {path}") from error
            return "CorruptEntry"
        except StorageError as error:
            return type(error).__name__
        return "used"

    async def _use_log(self) -> None:
        """Open it, read, append, acknowledge, close."""
        log = await self.open()
        try:
            for cursor in list(log.cursors.values()):
                assert cursor.backlog >= 0
                cursor.clamp()
                for run in await cursor.reader.read(ENTRIES_MAX, 1 << 20):
                    assert [crc32c(entry) for entry in run.data] == run.checksums
                    acknowledge(cursor, [run.first])
                await cursor.flush()
            await append(log, [b"more"])
            await log.trim()
        finally:
            await log.close()

    async def _ask(self, path: str) -> None:
        """What a client and an administrator would ask for."""
        resources = Resources(self.metadata, codec=JsonCodec())
        groups = ResourceGroups(self.metadata, resources, self._tasks, codec=JsonCodec())
        namespace = NamespaceName("public", "default")
        try:
            policies = await resources.namespace(namespace)
            if policies is not None:
                policies.bundles.bundle_of(TOPIC)
                policies.shown()
            await resources.topic_policies.get(TOPIC.partitioned_name)
            await groups.get("g")
            tenant = await resources.tenant("public")
            if tenant is not None:
                tenant.shown()
            for name in await resources.clusters():
                cluster = await resources.cluster(name)
                if cluster is not None:
                    cluster.shown()
            assert isinstance(await resources.partitions(TOPIC.partitioned_name), int)
            await resources.topics(namespace)
            await resources.ensure_defaults(*CLUSTER)
        finally:
            groups.close()
            resources.close()
