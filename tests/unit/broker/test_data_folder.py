"""The halves of a data folder are missed, and a folder that never had them is fine."""

import shutil

import pytest
from unit.broker.peer import Peer, send

from magnetar.broker.data_folder import check_log_is_there, holds_log
from magnetar.errors import StorageError
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.codec.ledger_list import LedgerListRecord, encode_ledger_list
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.testing.local_broker import LocalBroker

QUIET = {"webServicePort": -1}


async def used(folder):
    """A folder with a topic in it."""
    async with LocalBroker(folder, settings=QUIET) as local:
        peer = await Peer.open(local.port)
        await peer.produce(1)
        peer.wire.send(send(1, 0, b"x"))
        await peer.hear()
        peer.wire.close()


async def test_a_log_without_metadata_is_refused_and_the_same_again(tmp_path):
    await used(tmp_path)
    (tmp_path / "metadata.sqlite").unlink()
    assert holds_log(tmp_path / "ledgers")
    for _ in range(2):
        with pytest.raises(StorageError, match=r"metadata\.sqlite is missing or empty"):
            await used(tmp_path)


async def test_metadata_without_a_log_are_refused_and_the_same_again(tmp_path):
    await used(tmp_path)
    shutil.rmtree(tmp_path / "ledgers")
    for _ in range(2):
        with pytest.raises(StorageError, match=r"ledgers has no files of the log.*knows 1 topics"):
            await used(tmp_path)
    assert not holds_log(tmp_path / "ledgers")


async def test_with_both_moved_away_it_begins_with_nothing(tmp_path):
    await used(tmp_path)
    shutil.rmtree(tmp_path / "ledgers")
    (tmp_path / "metadata.sqlite").unlink()
    await used(tmp_path)


async def test_a_broker_that_never_had_a_topic_needs_no_log(tmp_path):
    for _ in range(2):
        async with LocalBroker(tmp_path, settings=QUIET):
            assert not holds_log(tmp_path / "ledgers")


async def test_a_topic_that_was_only_just_created_needs_no_log(tmp_path):
    metadata = MemoryMetadataStore()
    path = paths.managed_ledger("t/n/persistent/a%2Fb")
    for value in (b"", encode_ledger_list(LedgerListRecord())):
        await metadata.put(path, value)
        await check_log_is_there(metadata, JsonCodec(), tmp_path)
    await metadata.put(paths.cursor("t/n/persistent/a%2Fb", "s"), b"")
    with pytest.raises(StorageError, match="no files of the log"):
        await check_log_is_there(metadata, JsonCodec(), tmp_path)
