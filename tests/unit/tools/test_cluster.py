import pytest
from click.testing import CliRunner

from magnetar.errors import InvalidValue
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.tools.cluster import TRANSACTIONS, check, left_behind


@pytest.fixture
async def metadata():
    store = MemoryMetadataStore()
    yield store
    await store.close()


async def test_what_carries_over_is_not_named(metadata):
    for path in (
        "/managed-ledgers/t/n/persistent/plain%2Ftopic",
        "/managed-ledgers/t/n/persistent/plain%2Ftopic/s-1",
        "/managed-ledgers/t/n/persistent/two+words",
        "/managed-ledgers/t/n/persistent/__change_events-partition-0",
        "/schemas/t/n/theirs",
    ):
        await metadata.put(path, b"x")
    assert not any((await left_behind(metadata)).values())


async def test_what_does_not_is_named(metadata):
    for path in ("/managed-ledgers/pulsar/system/persistent/__transaction_log_3",):
        await metadata.put(path, b"x")
    assert await left_behind(metadata) == {
        TRANSACTIONS: ["persistent://pulsar/system/__transaction_log_3"],
    }


def test_a_configuration_without_a_cluster_is_refused(tmp_path):
    conf = tmp_path / "broker.conf"
    conf.write_text("clusterName=here\n")
    ended = CliRunner().invoke(check, ["--conf", str(conf)])
    assert isinstance(ended.exception, InvalidValue)
    assert "metadataStoreUrl" in str(ended.exception)
