"""Markers of subscriptions, byte by byte as Apache Pulsar 4.0.7 writes them."""

import pytest

from magnetar.errors import CorruptEntry
from magnetar.message import metadata
from magnetar.message.entry import join
from magnetar.message.replicas import copies
from magnetar.message.subscription_markers import (
    Snapshot,
    SnapshotRequest,
    SnapshotResponse,
    SubscriptionUpdate,
    entry_of,
    read,
)
from magnetar.model.position import Position

PLACES = {"east": Position(7, 300), "north": Position(8, -1)}
# What its class Markers made, without the checksum, with its time of publishing.
FROM_JAVA = [
    (
        SnapshotRequest("id-1", "west"),
        None,
        "0000001b0a0d70756c7361722e6d61726b6572100018d6f1bfffa134a0010a0a0469642d31120477657374",
    ),
    (
        SnapshotResponse("id-1", "east", Position(7, 300)),
        "west",
        (
            "000000210a0d70756c7361722e6d61726b6572100018e4f6bfffa1343a0477657374a0010b0a0469642d31"
            "120d0a04656173741205080710ac02"
        ),
    ),
    (
        Snapshot("id-1", Position(5, 6), PLACES),
        "west",
        (
            "000000210a0d70756c7361722e6d61726b6572100018ebf6bfffa1343a0477657374a0010c0a0469642d31"
            "1204080510061a0d0a04656173741205080710ac021a160a056e6f727468120d080810"
            "ffffffffffffffffff01"
        ),
    ),
    (
        SubscriptionUpdate("s", PLACES),
        None,
        (
            "0000001b0a0d70756c7361722e6d61726b657210001895f7bfffa134a0010d0a0173120d0a0465617374"
            "1205080710ac0212160a056e6f727468120d080810ffffffffffffffffff01"
        ),
    ),
]


@pytest.mark.parametrize(("marker", "to", "written"), FROM_JAVA)
def test_markers_are_written_and_read_as_by_pulsar(marker, to, written):
    entry = bytes.fromhex(written)
    assert entry_of(marker, metadata.peek(entry).publish_time_ms, to=to) == entry
    assert read(entry, metadata.peek(entry).marker_type) == marker


def test_what_is_no_marker_is_corrupt():
    with pytest.raises(CorruptEntry):
        read(join(b"", b"\xff"), 10)
    with pytest.raises(CorruptEntry):
        read(join(b"", b""), 13)


def test_requests_updates_and_answers_for_it_go_to_a_cluster():
    entries = [bytes.fromhex(written) for *_, written in FROM_JAVA]

    def goes(there):
        found = copies(entries, Position(1, 0), here="here", there=there, schema_version={}.get)
        assert found.markers == [0, 1, 2, 3]
        return found.indexes

    assert goes("east") == [0, 3]
    assert goes("west") == [0, 1, 2, 3]


def test_markers_of_transactions_go_nowhere():
    entry = join(metadata.build("p", 0, 5) + b"\xa0\x01\x15", b"")
    found = copies([entry], Position(1, 0), here="here", there="there", schema_version={}.get)
    assert (found.indexes, found.markers) == ([], [])
