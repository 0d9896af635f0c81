"""What an entry is in another cluster."""

import pytest
from unit.inner.builds import both_builds

from magnetar.message import metadata
from magnetar.message.entry import checksum, join
from magnetar.message.replicas import SOURCE_POSITION, copies, source_of
from magnetar.model.position import Position
from magnetar.model.txn_id import TxnId

FIRST = Position(7, 100)


def entry(sequence_id=0, payload=b"payload", **more):
    return join(metadata.build("p", sequence_id, 5, **more), payload)


def copied(*data, versions=None, usual=b""):
    return copies(
        list(data),
        FIRST,
        here="west",
        there="east",
        schema_version=(versions or {}).get,
        usual_version=usual,
    )


def test_a_copy_is_the_entry_with_two_fields_behind_its_metadata():
    whole = entry(key="k", properties={"a": "b"}, message_count=3)
    found = copied(whole)
    assert (found.indexes, found.end, found.unknown) == ([0], 1, None)
    [copy] = found.data
    assert found.checksums == [checksum(copy)]
    size = int.from_bytes(whole[:4])
    assert copy[4 : 4 + size] == whole[4 : 4 + size]
    parsed, peeked = metadata.parse(copy), metadata.peek(copy)
    assert parsed.properties == {"a": "b", SOURCE_POSITION: "7:100"}
    assert (peeked.replicated_from, peeked.message_count) == ("west", 3)
    assert source_of(copy) == FIRST
    assert source_of(whole) is None


def test_what_came_from_elsewhere_and_what_names_others_stays():
    came = copied(entry()).data[0]
    found = copied(
        came, entry(1), entry(2, replicate_to=["north"]), entry(3, replicate_to=["east"])
    )
    assert (found.indexes, found.end) == ([1, 3], 4)
    assert [source_of(copy) for copy in found.data] == [Position(7, 101), Position(7, 103)]


def test_a_place_that_a_client_passed_on_is_replaced():
    again = entry(properties={SOURCE_POSITION: "1:1", "a": "b"})
    [copy] = copied(again).data
    assert metadata.parse(copy).properties == {"a": "b", SOURCE_POSITION: "7:100"}
    assert source_of(copy) == FIRST


def test_a_transaction_is_over_elsewhere():
    most_least = TxnId(1, 2)
    within = metadata.with_transaction(entry(), (most_least.most_bits, most_least.least_bits))
    [copy] = copied(within).data
    assert metadata.transaction_of(copy) is None
    assert metadata.peek(copy).replicated_from == "west"


def test_versions_of_schemas_are_those_there():
    old, new = bytes(7) + b"\1", bytes(7) + b"\2"
    data = [entry(schema_version=old), entry(1, schema_version=new), entry(2)]
    found = copied(*data)
    assert (found.indexes, found.end, found.unknown) == ([], 0, old)
    found = copied(*data, versions={old: old}, usual=old)
    assert (found.indexes, found.end, found.unknown) == ([0], 1, new)
    found = copied(*data, versions={old: old, new: b"other"}, usual=old)
    assert [metadata.schema_version(copy) for copy in found.data] == [old, b"other", None]


def test_what_nobody_can_read_stays():
    found = copied(b"\0\0\0\xff", entry(1))
    assert (found.indexes, found.end) == ([1], 2)


@both_builds
@pytest.mark.parametrize(
    ("data", "start", "stop"),
    [([b"abc"], 0, 0), ([b"\0\0\0\x02\x0a"], 0, 0), ([entry(), b""], 0, 1), ([entry()], 1, 1)],
)
def test_the_loop_stops_at_what_is_not_plain(loops, data, start, stop):
    assert loops.replicas(data, start, *FIRST, b"west", b"east", b"")[0] == stop


@both_builds
def test_what_came_from_another_cluster_does_not_stop_the_loop(loops):
    came = copied(entry(), entry(1)).data
    assert loops.replicas(came, 0, *FIRST, b"east", b"west", b"") == (2, [], [], [])


@both_builds
def test_there_is_nothing_behind_the_last_entry(loops):
    with pytest.raises(ValueError, match="index"):
        loops.replicas([entry()], 2, *FIRST, b"west", b"east", b"")
