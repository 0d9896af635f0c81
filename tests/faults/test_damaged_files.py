"""A flipped bit in each kind of file, and files that are gone: named, and never worse than that.

Whole broker processes, started by the real command on a damaged copy of a data folder. Either one
refuses in one line that names the file and what to do, or it serves all that is intact and names
the rest. Never a traceback, an empty topic that was not empty, or an entry that is another.

``folders.examine`` checks every message that comes; the tests here say what may be missing. By
default folders of killed brokers are damaged; ``FAULTS=all`` damages those of stopped ones too.
"""

import os
import shutil

import pulsar
import pytest
from faults.folders import (
    ACKNOWLEDGED,
    MESSAGES,
    SETTINGS,
    TOPICS,
    examine,
    flip,
    open_client,
    payload,
    subscribe,
)

from magnetar.testing.processes import BrokerProcess

pytestmark = [pytest.mark.crash, pytest.mark.timeout(120)]

HEADER = 4096  # Bytes; then the first record.
RECORD_HEAD = 64
SEALED, NEWEST = 2, -1  # Segments, in the order of the log.
WORKED = list(range(ACKNOWLEDGED, MESSAGES))  # What subscriptions have not acknowledged.


def place_of(path, text, count):
    """Where the last byte of ``text`` is, the ``count``-th time it comes."""
    data, at = path.read_bytes(), -1
    for _ in range(count):
        at = data.index(text, at + 1)
    return at + len(text) - 1


@pytest.fixture(params=["killed", "stopped"] if os.environ.get("FAULTS") == "all" else ["killed"])
def filled(request, tmp_path):
    return request.getfixturevalue(request.param).copy(tmp_path / "data")


def lost(found):
    """How many messages are missing; each was named by the broker, or this would have failed."""
    assert not found.refusal, found.refusal
    return sum(map(len, found.missing.values()))


def served_all(found):
    return lost(found) == 0 and all(numbers == WORKED for numbers in found.delivered.values())


def test_what_is_intact_is_served_whole(filled):
    found = examine(filled)
    assert served_all(found)
    assert not found.log


@pytest.mark.parametrize("segment", [SEALED, NEWEST])
@pytest.mark.parametrize(
    "at", [1, 9, 14, 20, 42], ids=["magic", "crc", "version", "number", "start"]
)
def test_a_flipped_bit_in_a_segments_header_is_refused(filled, segment, at):
    path = filled.segments[segment]
    flip(path, at)
    found = examine(filled)
    assert f"{path} cannot be used" in found.refusal
    assert "Restore the file from a backup" in found.refusal


@pytest.mark.parametrize("segment", [SEALED, NEWEST])
@pytest.mark.parametrize(
    "at",
    [0, 22, 30, RECORD_HEAD + 2, RECORD_HEAD + 500],
    ids=["magic", "synced", "ledger", "tables", "body"],
)
def test_a_flipped_bit_in_a_record_costs_that_record(filled, segment, at):
    flip(filled.segments[segment], HEADER + at)
    found = examine(filled)
    assert lost(found) == 1
    hurt = [topic for topic in TOPICS if found.missing[topic]]
    for topic in TOPICS:
        # A subscription gets what lies before the damage, in order, and waits there to be seeked.
        if topic not in hurt or found.missing[topic][0] < ACKNOWLEDGED:
            assert found.delivered[topic] == WORKED
        else:
            assert found.delivered[topic] == list(range(ACKNOWLEDGED, found.missing[topic][0]))


@pytest.mark.parametrize("at", [-1, -12, -40], ids=["trailer", "place", "footer"])
def test_a_flipped_bit_in_a_footer_costs_nothing(filled, at):
    flip(filled.segments[SEALED], at)
    assert served_all(examine(filled))


def test_a_flipped_bit_in_padding_or_in_a_spare_file_or_the_lock_costs_nothing(filled):
    flip(filled.segments[SEALED], HEADER - 100)
    flip(filled.ledgers / "lock", 0)
    for spare in filled.ledgers.glob("spare-*"):
        flip(spare, 50)
    found = examine(filled)
    assert served_all(found)
    assert not found.log


@pytest.mark.parametrize(
    ("text", "count"),
    [(b"SQLite", 1), (b"CREATE TABLE records", 1), (b"persistent/red", 1), (b"persistent/red", 2)],
    ids=["magic", "schema", "table", "index"],
)
def test_a_flipped_bit_in_the_structure_of_the_metadata_is_refused(stopped, tmp_path, text, count):
    filled = stopped.copy(tmp_path / "data")
    path = filled.data / "metadata.sqlite"
    flip(path, place_of(path, text, count))
    found = examine(filled)
    assert f"{path} is damaged" in found.refusal
    assert "restore it from a backup" in found.refusal


@pytest.mark.parametrize("at", [16, 100, 4096, 8192])
def test_a_flipped_bit_in_a_page_of_the_metadata_is_refused(stopped, tmp_path, at):
    filled = stopped.copy(tmp_path / "data")
    path = filled.data / "metadata.sqlite"
    flip(path, at)
    assert f"{path} is damaged" in examine(filled).refusal


@pytest.mark.parametrize("at", [10, 18, 40, 3000, 100_000, 200_000])
def test_a_flipped_bit_in_the_log_of_the_metadata_is_refused(killed, tmp_path, at):
    filled = killed.copy(tmp_path / "data")
    path = filled.data / "metadata.sqlite-wal"
    flip(path, at)
    found = examine(filled)
    assert f"{path} is damaged" in found.refusal
    assert "to go on without those changes, remove metadata.sqlite-shm" in found.refusal


def test_a_flipped_bit_in_the_index_of_that_log_costs_nothing(killed, tmp_path):
    filled = killed.copy(tmp_path / "data")
    for at in (0, 16, 64, 100):
        flip(filled.data / "metadata.sqlite-shm", at)
    assert served_all(examine(filled))


def test_a_flipped_bit_in_one_record_of_the_metadata_costs_that_topic(stopped, tmp_path):
    filled = stopped.copy(tmp_path / "data")
    path = filled.data / "metadata.sqlite"
    red = place_of(path, b"persistent/red{", 1)
    flip(path, red + 16)  # In its list of ledgers.
    with BrokerProcess(filled.data, settings=SETTINGS, **filled.ports) as broker:
        client = open_client(broker, operation_timeout_seconds=2)
        for topic in TOPICS:
            if topic.endswith("red"):
                with pytest.raises(pulsar.PulsarException):
                    subscribe(client, topic)
            else:
                first = subscribe(client, topic).receive(5000)
                assert first.data() == payload(topic, ACKNOWLEDGED)
        client.close()
        said = broker.life_log()
    assert f"metadata.damaged path={path} error=the record /managed-ledgers" in said
    assert "restore metadata.sqlite from a backup" in said
    assert "Traceback" not in said


# Files that are missing.


@pytest.mark.parametrize("index", [0, 4])
def test_a_missing_segment_costs_what_was_in_it(filled, index):
    filled.segments[index].unlink()
    found = examine(filled)
    assert 10 < lost(found) < 30
    # What they lack is one stretch, and what lies behind it is there.
    for missing in found.missing.values():
        assert missing == list(range(missing[0], missing[-1] + 1))
        assert missing[-1] < MESSAGES - 1


def test_a_missing_newest_segment_is_named(killed, tmp_path):
    """What was in it is gone, and the ids of ledgers that began in it must not be given again."""
    filled = killed.copy(tmp_path / "data")
    missing = filled.segments[-1]
    missing.unlink()
    code, refused = BrokerProcess(filled.data, settings=SETTINGS).refusal()
    assert code == 1
    assert missing.name in refused
    (mark,) = filled.ledgers.glob("newest-*")
    assert str(mark) in refused
    mark.unlink()
    with BrokerProcess(filled.data, settings=SETTINGS) as broker:
        said = broker.life_log()
    assert "storage.newest_unknown" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["metadata.sqlite", "ledgers"])
def test_half_a_data_folder_is_refused(filled, name):
    path = filled.data / name
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    for _ in range(2):  # The first start must not make it look as if all was well.
        found = examine(filled)
        assert str(path) in found.refusal
        assert "from a backup" in found.refusal


@pytest.mark.parametrize("name", ["metadata.sqlite", "metadata.sqlite-wal"])
@pytest.mark.parametrize("size", [0, 5000])
def test_metadata_that_were_cut_short_are_refused(killed, tmp_path, name, size):
    filled = killed.copy(tmp_path / "data")
    path = filled.data / name
    path.write_bytes(path.read_bytes()[:size])
    assert str(path) in examine(filled).refusal


def test_a_missing_log_of_the_metadata_is_refused_until_told_otherwise(killed, tmp_path):
    filled = killed.copy(tmp_path / "data")
    (filled.data / "metadata.sqlite-wal").unlink()
    assert "metadata.sqlite-wal is missing" in examine(filled).refusal
    assert "metadata.sqlite-wal is missing" in examine(filled).refusal


def test_files_that_only_help_are_not_missed(filled):
    for path in [filled.ledgers / "lock", *filled.ledgers.glob("spare-*")]:
        path.unlink()
    (filled.data / "metadata.sqlite-shm").unlink(missing_ok=True)
    found = examine(filled)
    assert served_all(found)
    assert not found.log
