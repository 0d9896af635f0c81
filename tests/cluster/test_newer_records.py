"""What a broker of a newer version wrote, seen and changed by this one: nothing of it is lost.

The records are those of a cluster, in Pulsar's formats. What a newer version may add is an unknown
key, or an unknown value of a key that is known.
"""

import json
from contextlib import asynccontextmanager

import aiohttp
import pytest

from magnetar import Client
from magnetar.broker.assemble.stores import Stores
from magnetar.errors import MagnetarError
from magnetar.model.broker_address import BrokerAddress
from magnetar.storage.codec.pulsar_codec import PulsarCodec
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree
from magnetar.testing.local_broker import LocalBroker

ADDED = {"ofANewerVersion": {"deep": [1, {"more": True}]}}
UNKNOWN_FIELD = bytes([0xFA, 0x7F]) + b"\x05newer"
"""Field 2047 of a protobuf message, which none has."""
TOPIC = "persistent://t/n/x"
NAMESPACE = "/admin/policies/t/n"
ISOLATION = {
    "namespaces": ["x/.*"],
    "primary": ["x"],
    "auto_failover_policy": {
        "policy_type": "min_available",
        "parameters": {"min_limit": "1", "usage_threshold": "80"},
    },
}
QUOTA = {"msgRateIn": 1, "msgRateOut": 1, "bandwidthIn": 1, "bandwidthOut": 1, "memory": 1}
CHANGES = {
    "/admin/policies/t": (
        "POST",
        "tenants/t",
        {"adminRoles": ["a"], "allowedClusters": ["standalone"]},
    ),
    NAMESPACE: ("POST", "namespaces/t/n/messageTTL", 60),
    "/admin/local-policies/t/n": ("POST", "namespaces/t/n/antiAffinity", "other"),
    "/admin/partitioned-topics/t/n/persistent/p": ("POST", "persistent/t/n/p/partitions", 3),
    "/admin/isolation-policies/standalone": (
        "POST",
        "clusters/standalone/namespaceIsolationPolicies/b",
        ISOLATION,
    ),
    "/admin/failure-domains/standalone": (
        "POST",
        "clusters/standalone/failureDomains/e",
        {"brokers": ["y"]},
    ),
    "/admin/resourcegroups/g": ("PUT", "resourcegroups/g", {"publishRateInMsgs": 6}),
    "/admin/configuration": ("POST", "brokers/configuration/maxProducersPerTopic/11", None),
    "/admin/resource-quotas": ("POST", "resource-quotas/t/n/0x00000000_0x40000000", QUOTA),
}
"""By record, what has it written again; each is there before by another such request."""
BEFORE = (
    ("PUT", "tenants/t", {"adminRoles": [], "allowedClusters": ["standalone"]}),
    ("PUT", "namespaces/t/n", None),
    ("POST", "namespaces/t/n/antiAffinity", "group"),
    ("PUT", "persistent/t/n/p/partitions", 2),
    ("POST", "clusters/standalone/namespaceIsolationPolicies/a", ISOLATION),
    ("POST", "clusters/standalone/failureDomains/d", {"brokers": ["x"]}),
    ("PUT", "resourcegroups/g", {"publishRateInMsgs": 5}),
    ("POST", "brokers/configuration/maxProducersPerTopic/10", None),
    ("POST", "resource-quotas", QUOTA),
)


class Shared:
    """The stores of a cluster, over the lives of its brokers."""

    def __init__(self):
        self.tree, self.ledgers = MemoryTree(), MemoryLedgerStore()

    @asynccontextmanager
    async def broker(self):
        """A broker, and what asks it, each in a session of its own."""
        session = MemoryMetadataStore(self.tree)
        stores = Stores(session, self.ledgers, PulsarCodec(), load_balanced=True)
        settings = {"loadBalancerEnabled": True}
        local = LocalBroker(settings=settings, stores=stores)
        async with local as broker, aiohttp.ClientSession() as web:

            async def ask(method, path, body=None):
                data = None if body is None else json.dumps(body)
                url, kind = (
                    f"{broker.web_url}/admin/v2/{path}",
                    {"Content-Type": "application/json"},
                )
                async with web.request(method, url, data=data, headers=kind) as answer:
                    return answer.status, await answer.text()

            yield broker, ask
        await session.close()

    async def rewrite(self, path, change):
        """As a broker of a newer version does."""
        session = MemoryMetadataStore(self.tree)
        record = await session.get(path)
        assert record is not None, f"{path} is not written yet"
        await session.put(path, change(record.value))
        await session.close()

    async def value(self, path):
        return self.tree.records[path].value


def with_key(value):
    return json.dumps({**json.loads(value), **ADDED}).encode()


async def test_unknown_keys_stay_when_an_older_broker_changes_a_record():
    shared = Shared()
    async with shared.broker() as (_, ask):
        for each in BEFORE:
            status, text = await ask(*each)
            assert status in (200, 204), text
    for path in CHANGES:
        await shared.rewrite(path, with_key)
    async with shared.broker() as (_, ask):
        for path, change in CHANGES.items():
            before = json.loads(await shared.value(path))
            status, text = await ask(*change)
            assert status in (200, 204), (path, text)
            after = json.loads(await shared.value(path))
            assert after != before, f"{path} was not changed"
            assert after.items() >= ADDED.items(), path


async def test_unknown_fields_of_logs_and_cursors_stay_when_an_older_broker_goes_on():
    shared = Shared()
    async with shared.broker() as (broker, ask):
        for each in BEFORE[:2]:
            await ask(*each)
        async with Client(broker.service_url) as client:
            await client.subscribe(TOPIC, "s")
            async with await client.create_producer(TOPIC) as producer:
                await producer.send(b"1")
    log, cursor = "/managed-ledgers/t/n/persistent/x", "/managed-ledgers/t/n/persistent/x/s"
    for path in (log, cursor):
        await shared.rewrite(path, lambda value: value + UNKNOWN_FIELD)
    before = [await shared.value(path) for path in (log, cursor)]
    async with shared.broker() as (broker, _), Client(broker.service_url) as client:
        consumer = await client.subscribe(TOPIC, "s")
        message = await consumer.receive(10)
        assert message.data == b"1"
        consumer.acknowledge(message)
        async with await client.create_producer(TOPIC) as producer:
            await producer.send(b"2")
        await consumer.close()
    after = [await shared.value(path) for path in (log, cursor)]
    for old, new in zip(before, after, strict=True):
        assert new != old
        assert UNKNOWN_FIELD in new


@pytest.mark.parametrize("path", [paths.LEADER, "/namespace/t/n/0x00000000_0x40000000"])
async def test_the_leases_of_a_newer_broker_are_read_with_unknown_keys(path):
    """And so are records of brokers and notes, which have the same bytes."""
    codec, other = PulsarCodec(), BrokerAddress("pulsar://h:1", "http://h:2", "", "")
    value = with_key(codec.encode_owner(other))
    assert codec.decode_owner(value) == other
    shared = Shared()
    session = MemoryMetadataStore(shared.tree)
    await session.put(path, value, ephemeral=True)
    async with shared.broker() as (_, ask):
        for each in BEFORE[:2]:
            await ask(*each)
        if path == paths.LEADER:
            status, text = await ask("GET", "brokers/leaderBroker")
            assert (status, json.loads(text)["brokerId"]) == (200, "h:2")
        assert await shared.value(path) == value, "it is the newer broker's"


async def test_a_report_of_a_newer_broker_counts_and_one_that_cannot_be_read_is_none():
    shared = Shared()
    address = BrokerAddress("pulsar://h:1", "http://h:2", "", "")
    session = MemoryMetadataStore(shared.tree)
    await session.put(paths.broker("h:2"), PulsarCodec().encode_owner(address), ephemeral=True)
    async with shared.broker() as (broker, ask):
        for each in BEFORE[:2]:
            await ask(*each)
        report = json.dumps({"loadReportType": "OfANewerVersion", **ADDED}).encode()
        await session.put(paths.load_report("h:2"), report, ephemeral=True)
        namespace = await broker.broker.registry._resources.require_namespace(
            (await broker.broker.registry._resources.namespaces("t"))[0]
        )
        name = (await broker.broker.registry._resources.namespaces("t"))[0]
        owners = {
            (await broker.broker.registry.ownership.acquire(each)).name
            for each in namespace.bundles.of(name)
        }
        assert owners == {broker.broker.address.name, "h:2"}, "they are shared with it all the same"


async def test_an_isolation_policy_of_an_unknown_kind_is_passed_over_and_stays():
    shared = Shared()
    async with shared.broker() as (broker, ask):
        for each in BEFORE[:2]:
            await ask(*each)
        await ask(*BEFORE[4])

        def newer(value):
            unknown = {
                "namespaces": ["t/.*"],
                "primary": ["nobody"],
                "auto_failover_policy": {"policy_type": "newer"},
            }
            return json.dumps({**json.loads(value), "z": unknown}).encode()

        await shared.rewrite("/admin/isolation-policies/standalone", newer)
        async with Client(broker.service_url) as client:
            await client.create_producer(TOPIC)
        await ask(*CHANGES["/admin/isolation-policies/standalone"])
        kept = json.loads(await shared.value("/admin/isolation-policies/standalone"))
        assert kept["z"]["auto_failover_policy"] == {"policy_type": "newer"}
        assert set(kept) == {"a", "b", "z"}


async def test_an_unknown_word_counts_as_not_set_and_stays():
    """As Pulsar's brokers read it."""
    shared = Shared()
    async with shared.broker() as (_, ask):
        for each in BEFORE[:2]:
            await ask(*each)
    word = {"schema_compatibility_strategy": "OF_A_NEWER_VERSION"}
    await shared.rewrite(
        NAMESPACE, lambda value: json.dumps({**json.loads(value), **word}).encode()
    )
    async with shared.broker() as (broker, ask), Client(broker.service_url) as client:
        async with await client.create_producer(TOPIC) as producer:
            await producer.send(b"1")
        assert (await ask(*CHANGES[NAMESPACE]))[0] == 204
    assert json.loads(await shared.value(NAMESPACE)).items() >= word.items()


async def test_a_value_of_another_type_is_refused_and_stays():
    """Topics of that namespace are not opened by the older broker; others are."""
    shared = Shared()
    async with shared.broker() as (_, ask):
        for each in BEFORE[:2]:
            await ask(*each)
        await ask("PUT", "namespaces/t/other")
    value = {"message_ttl_in_seconds": {"of": "a newer version"}}
    await shared.rewrite(NAMESPACE, lambda old: json.dumps({**json.loads(old), **value}).encode())
    before = await shared.value(NAMESPACE)
    async with shared.broker() as (broker, ask):
        async with Client(broker.service_url, operation_timeout_s=2) as client:
            async with await client.create_producer("persistent://t/other/x") as producer:
                await producer.send(b"1")
            with pytest.raises(MagnetarError):
                await client.create_producer(TOPIC)
        status, text = await ask(*CHANGES[NAMESPACE])
        assert status >= 400, text
    assert await shared.value(NAMESPACE) == before
