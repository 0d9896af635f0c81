"""The groups that a namespace prefers, as Pulsar keeps them."""

import json

import pytest

from magnetar.errors import CorruptEntry
from magnetar.storage.ledger.bookkeeper.affinity import affinity_in, with_affinity
from magnetar.storage.ledger.bookkeeper.racks import IsolationGroups
from magnetar.storage.metadata.memory import MemoryMetadataStore

LOG = {"pulsar/managed-ledger": b"t/n/persistent/topic", "other": b"x"}
KEPT = "EnsemblePlacementPolicyConfig"
WHERE = "/admin/local-policies/t/n"


@pytest.fixture
async def metadata():
    store = MemoryMetadataStore()
    yield store
    await store.close()


def policies(primary, secondary=None):
    groups = {"bookkeeperAffinityGroupPrimary": primary}
    if secondary is not None:
        groups["bookkeeperAffinityGroupSecondary"] = secondary
    return json.dumps({"bundles": {}, "bookieAffinityGroup": groups}).encode()


async def test_they_are_kept_with_each_ledger_of_a_topic(metadata):
    await metadata.put(WHERE, policies("a,b", "c"))
    custom = await with_affinity(metadata, LOG)
    assert {key: custom[key] for key in LOG} == LOG
    assert json.loads(custom[KEPT]) == {
        "policyClass": (
            "org.apache.pulsar.bookie.rackawareness.IsolatedBookieEnsemblePlacementPolicy"
        ),
        "properties": {"isolationBookieGroups": "a,b", "secondaryIsolationBookieGroups": "c"},
    }
    assert affinity_in(custom) == IsolationGroups(("a", "b"), ("c",))
    await metadata.put(WHERE, policies("a"))
    assert affinity_in(await with_affinity(metadata, LOG)) == IsolationGroups(("a",))


@pytest.mark.parametrize(
    "record", [None, b"{}", b'{"bookieAffinityGroup": null}', policies(""), policies(None)]
)
async def test_there_may_be_none(metadata, record):
    if record is not None:
        await metadata.put(WHERE, record)
    assert await with_affinity(metadata, LOG) == LOG
    assert affinity_in(LOG) is None


async def test_what_is_of_no_namespace_has_none(metadata):
    await metadata.put(WHERE, policies("a"))
    for custom in ({}, {"pulsar/schemaId": b"t/n/topic"}):
        assert await with_affinity(metadata, custom) == custom


def test_policies_of_others_are_passed_over():
    assert affinity_in({KEPT: b'{"policyClass": "org.example.Mine", "properties": {}}'}) is None


@pytest.mark.parametrize("record", [b"{", b"[]"])
async def test_what_cannot_be_read_is_told(metadata, record):
    await metadata.put(WHERE, record)
    with pytest.raises(CorruptEntry, match="local-policies"):
        await with_affinity(metadata, LOG)
    with pytest.raises(CorruptEntry, match=KEPT):
        affinity_in({KEPT: record})
