import os

import pytest
from unit.broker.peer import Peer, send

from magnetar.broker.assemble.stores import ledger_settings, names_of_stores
from magnetar.broker.config import Config
from magnetar.errors import MagnetarError, StorageError, StoreLocked
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

QUIET = {"webServicePort": -1}


async def test_what_is_stored_is_there_after_a_restart(tmp_path):
    async with LocalBroker(tmp_path, settings=QUIET) as local:
        peer = await Peer.open(local.port)
        first = await peer.produce(1)
        await peer.consume(1, subscription="s", permits=10)
        peer.wire.send(b"".join(send(1, number, b"m%d" % number) for number in range(3)))
        answers = [await peer.hear() for _ in range(6)]
        ids = [one.message.message_id for one in answers if one.HasField("message")]
        await peer.ask(
            "ack",
            consumer_id=1,
            ack_type=pb.CommandAck.Individual,
            message_id=[ids[0]],
            request_id=1,
        )
    async with LocalBroker(tmp_path, settings=QUIET) as local:
        peer = await Peer.open(local.port)
        await peer.consume(1, subscription="s", permits=10)
        assert [(await peer.hear()).message.message_id.entryId for _ in range(2)] == [1, 2]
        await peer.nothing_more()
        assert await peer.produce(1) != first
        peer.wire.close()


async def test_a_data_folder_serves_one_broker(tmp_path):
    async with LocalBroker(tmp_path, settings=QUIET):
        with pytest.raises(StoreLocked, match=r"in use by process \d+"):
            async with LocalBroker(tmp_path, settings=QUIET):
                pytest.fail("two brokers on one folder")
    async with LocalBroker(tmp_path, settings=QUIET):
        pass


async def test_a_data_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "data").write_text("not a folder")
    with pytest.raises(MagnetarError, match="data"):
        async with LocalBroker(tmp_path / "data", settings=QUIET):
            pytest.fail("it started")


async def test_metadata_that_are_none_are_refused_and_nothing_stays_open(tmp_path):
    async with LocalBroker(tmp_path, settings=QUIET):
        pass
    (metadata,) = tmp_path.glob("metadata.sqlite")
    kept = metadata.read_bytes()
    metadata.write_bytes(b"not a database, whatever its name says" * 100)
    with pytest.raises(StorageError, match=r"metadata\.sqlite"):
        async with LocalBroker(tmp_path, settings=QUIET):
            pytest.fail("it started")
    metadata.write_bytes(kept)
    async with LocalBroker(tmp_path, settings=QUIET):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="data"):
        async with LocalBroker(tmp_path / "data", settings=QUIET):
            pytest.fail("it started")


async def test_the_size_of_the_logs_files_reaches_the_log(tmp_path):
    async with LocalBroker(tmp_path, settings={"logSizeLimit": 64 * 1024, **QUIET}) as local:
        peer = await Peer.open(local.port)
        await peer.produce(1)
        for number in range(8):
            peer.wire.send(send(1, number, bytes(32 * 1024)))
            await peer.hear()
        assert len(list((tmp_path / "ledgers").glob("segment-*.log"))) > 3
        peer.wire.close()


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({}, 8),
        ({"logSpareSizeMB": 0}, 0),
        ({"logSpareSizeMB": 1, "logSizeLimit": 256 * 1024}, 4),
        ({"logSpareSizeMB": 1, "logSizeLimit": 300 * 1024}, 3),
        ({"logSizeLimit": 64 * 1024}, 8),
        ({"logSizeLimit": 1024 * 1024 * 1024}, 0),
    ],
)
def test_so_many_files_are_kept_to_be_overwritten(settings, count):
    storage = Config.read(environment={}, flags=settings).storage
    assert ledger_settings(storage).segments_spare_max == count


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"storageInMemory": True}, ("memory:local", "")),
        ({"dataDirectory": "/data"}, ("sqlite:///data/metadata.sqlite", "/data/ledgers")),
        ({"metadataStoreUrl": "zk:one:2181/a"}, ("zk:one:2181/a", "/ledgers")),
        (
            {"zookeeperServers": "one", "bookkeeperMetadataServiceUri": "zk://one:2181/l"},
            ("zk:one", "/l"),
        ),
    ],
)
def test_operators_are_told_where_everything_is(settings, named):
    assert names_of_stores(Config.read(flags=settings)) == named
