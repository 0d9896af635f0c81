"""The admin API on memory stores, over a real socket."""

import asyncio
import json
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from unit.storage.managed_ledger.logs import append
from yarl import URL

from magnetar.broker.addresses import listen
from magnetar.broker.admin.app import start_admin
from magnetar.broker.admin.broker_health import BrokerHealth
from magnetar.broker.assemble.admin import admin_services
from magnetar.broker.assemble.services import Services
from magnetar.broker.authorization.permissions import Permissions
from magnetar.broker.cluster.brokers import Brokers
from magnetar.broker.cluster.lookup import Lookup
from magnetar.broker.cluster.membership import Membership
from magnetar.broker.cluster.ownership import Ownership
from magnetar.broker.cluster.topic_logs import TopicLogs
from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.config import Config
from magnetar.broker.creation import Creation
from magnetar.broker.dynamic_configuration import DynamicConfiguration
from magnetar.broker.peers import Peers
from magnetar.broker.policies import PolicyService
from magnetar.broker.remote_clusters import RemoteClusters
from magnetar.broker.resource_groups import ResourceGroups
from magnetar.broker.resources import Resources
from magnetar.broker.schema.registry import SchemaRegistry
from magnetar.broker.schema.topic_schemas import TopicSchemas
from magnetar.broker.settings.policies import PolicySettings
from magnetar.broker.settings.storage import StorageSettings
from magnetar.broker.topics.log.deletions import Deletions
from magnetar.broker.topics.settings import TopicSettings
from magnetar.clock import SystemClock
from magnetar.loop_iteration import LoopIteration
from magnetar.message.entry_traits import EntryTraits
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.names import TopicName
from magnetar.model.position import Position
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.rest.listener import Listener
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.managed_ledger.managed_ledger_factory import ManagedLedgerFactory
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.storage.schemas.in_records import SchemasInRecords
from magnetar.tasks import Tasks

USUAL = {"Accept": "application/json", "Content-Type": "application/json"}


class SilentEnd:
    """A client that reads everything and sends nothing."""

    client_version = "test"
    writable = True

    def __init__(self, address="127.0.0.1:1"):
        self.address = address
        self.closed = []

    async def alive(self):
        return True

    def when_writable(self, wake): ...

    def send_receipts(self, run, ledger_id, first_entry_id): ...

    def send_unstored_receipts(self, run, *, delivered): ...

    def send_errors(self, run, error): ...

    def drop_sends(self, run): ...

    def send_entries(self, consumer_id, run, **more): ...

    def send_active_change(self, consumer_id, *, active): ...

    def close_producer(self, producer_id, to=None):
        self.closed.append(("producer", producer_id))

    def close_consumer(self, consumer_id, to=None):
        self.closed.append(("consumer", consumer_id))


@dataclass
class Answer:
    status: int
    content_type: str | None
    text: str
    headers: Any

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def reason(self):
        return self.json["reason"]


class World:
    """The broker's rooms, and a client of their admin API."""

    def __init__(self, admin, *, metadata, port, session):
        self.admin = admin
        self.resources = admin.records.resources
        self.registry = admin.topics.topics
        self.metadata = metadata
        self.port = port
        self._session = session

    async def ask(self, method, path, body=None, **headers) -> Answer:
        """Send a request; ``body`` is JSON, or bytes as they are; a header None is left out."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {k: v for k, v in {**USUAL, **headers}.items() if v is not None}
        async with self._session.request(
            method,
            URL(f"http://127.0.0.1:{self.port}{path}", encoded=True),
            data=data,
            headers=sent,
            skip_auto_headers=("Accept", "Content-Type", "User-Agent"),
            allow_redirects=False,
        ) as response:
            text = (await response.read()).decode()
            kind = response.headers.get("Content-Type")
            return Answer(response.status, kind, text, response.headers)

    async def topic(self, name):
        """A topic, made where it is missing."""
        return await self.registry.create(TopicName.parse(name))

    async def publish(self, name, *times_ms, batches=()):
        """Store one message for each publish time, then one batch for each size; all positions."""
        topic = await self.topic(name)
        entries = [entry(time) for time in times_ms] + [entry(1, count) for count in batches]
        counts = [1] * len(times_ms) + list(batches)
        ledger_id, first = await append(topic.ledger, entries, EntryTraits(counts))
        return [Position(ledger_id, first + index) for index in range(len(entries))]


def entry(publish_time_ms, batch=None):
    """An entry without a body."""
    metadata = pb.MessageMetadata(producer_name="p", sequence_id=0, publish_time=publish_time_ms)
    if batch is not None:
        metadata.num_messages_in_batch = batch
    serialized = metadata.SerializeToString()
    return len(serialized).to_bytes(4, "big") + serialized


@asynccontextmanager
async def open_world(settings=None, clock=None):
    """Cluster ``standalone`` with Pulsar's namespaces, on a free port."""
    rates_clock, clock = clock or SystemClock(), SystemClock()
    tasks, metadata = Tasks("admin test"), MemoryMetadataStore()
    ledgers, cache = MemoryLedgerStore(), EntryCache()
    address = BrokerAddress.of("localhost", 6650, 8080)
    settings = settings or PolicySettings()

    factory = ManagedLedgerFactory(
        codec=JsonCodec(), metadata=metadata, ledgers=ledgers, cache=cache, clock=clock, tasks=tasks
    )

    async with AsyncExitStack() as stack:
        stack.push_async_callback(metadata.close)
        stack.push_async_callback(ledgers.close)
        stack.push_async_callback(tasks.close)
        resources = Resources(metadata, codec=JsonCodec())
        stack.callback(resources.close)
        await resources.ensure_defaults("standalone", address.web_url, address.service_url)
        broker = settings.policies()
        policies = PolicyService(
            resources, metadata, broker=broker, tasks=tasks, topic_level=settings.topic_level
        )
        stack.callback(policies.close)
        resource_groups = ResourceGroups(metadata, resources, tasks, codec=JsonCodec())
        stack.callback(resource_groups.close)
        creation = Creation(resources, policies, partitions_max=settings.partitions_max)
        schemas = SchemaRegistry(SchemasInRecords(metadata), SystemClock())
        stack.callback(schemas.close)
        member = Membership(metadata, address, JsonCodec(), clock, tasks)
        ownership, brokers = Ownership(member), Brokers(member)
        stack.callback(brokers.close)
        await brokers.register()
        registry = TopicRegistry(
            resources=resources,
            ownership=ownership,
            logs=TopicLogs(factory),
            creation=creation,
            policies=policies,
            deletions=Deletions(metadata, codec=JsonCodec()),
            settings=TopicSettings(),
            clock=clock,
            iteration=LoopIteration(asyncio.get_running_loop()),
            producer_name=iter(f"standalone-0-{n}" for n in range(1000)).__next__,
            deleted=(
                schemas.topic_deleted,
                policies.topic_deleted,
                Permissions(resources).topic_deleted,
            ),
        )
        stack.push_async_callback(registry.close)
        config = Config(policies=settings, storage=StorageSettings(in_memory=True))
        remote = RemoteClusters(
            "standalone",
            resources,
            schemas,
            metadata=metadata,
            settings=config.replication,
            client={},
            tls=False,
            clock=clock,
        )
        stack.push_async_callback(remote.close)
        services = Services(
            address=address,
            remote=remote,
            health=BrokerHealth(rates_clock),
            resources=resources,
            policies=policies,
            resource_groups=resource_groups,
            configuration=DynamicConfiguration(
                config, resources.objects, policies, creation, metadata=metadata, tasks=tasks
            ),
            creation=creation,
            topics=registry,
            lookup=Lookup(resources, ownership, kept=True),
            member=member,
            brokers=brokers,
            peers=Peers(address, {}, SystemClock(), tls=False),
            schema_registry=schemas,
            schemas=TopicSchemas(schemas, policies),
            coordinators=None,
        )
        admin = admin_services(services, config, rates_clock)
        admin.broker.version = "9.9.9"
        server = await start_admin(admin, [Listener(listen("127.0.0.1", 0))])
        stack.push_async_callback(server.close)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        yield World(admin, metadata=metadata, port=server.port, session=session)
