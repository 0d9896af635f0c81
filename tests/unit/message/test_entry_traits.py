"""What a broker sees in entries: the same for a run as a whole as for each entry by itself."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from unit.inner.builds import both_builds

from magnetar.errors import CorruptEntry
from magnetar.message import entry_traits
from magnetar.message.entry import join
from magnetar.message.entry_traits import EntryTraits, traits_of
from magnetar.message.metadata import peek
from magnetar.message.send_run import SendRun
from magnetar.proto import PulsarApi_pb2 as pb

pytestmark = both_builds


@pytest.fixture(autouse=True)
def _looked_into_by(loops, monkeypatch):
    monkeypatch.setattr(entry_traits, "inner", loops)


CORRUPT = b"\0\0\0\x05\xff\xff\xff\xff\xffpayload"
UNUSUAL = {
    "chunk": {"uuid": "u", "chunk_id": 1, "num_chunks_from_msg": 2},
    "marker_type": {"marker_type": 20},
}


def entry(sequence_id=0, publish_time=1_752_000_000_000, *, batch=None, **fields):
    found = pb.MessageMetadata(
        producer_name="p", sequence_id=sequence_id, publish_time=publish_time, **fields
    )
    if batch is not None:
        found.num_messages_in_batch = batch
    return join(found.SerializeToString(), b"payload")


def seen_in(one):
    try:
        return peek(one)
    except CorruptEntry:
        return None


@pytest.mark.parametrize("count", [1, 2, 31, 32, 200])
def test_what_the_producer_said_holds_where_nothing_is_unusual(count):
    run, counts = [entry(1000 + number) for number in range(count)], [7] * count
    traits = traits_of(run, counts)
    assert traits.message_counts is counts
    assert (traits.message_count, dict(traits.unusual)) == (7 * count, {})


@pytest.mark.parametrize("name", UNUSUAL)
@pytest.mark.parametrize("count", [1, 5, 40])
@pytest.mark.parametrize("all_of_them", [True, False])
def test_what_is_unusual_is_seen_wherever_it_is(name, count, all_of_them):
    fields = UNUSUAL[name]
    run = [entry(number, **(fields if all_of_them else {})) for number in range(count)]
    run[-1] = entry(count, **fields)
    expected = range(count) if all_of_them else [count - 1]
    for traits in (traits_of(run, [1] * count), traits_of(run, [0] * count), traits_of(run)):
        assert list(traits.unusual) == list(expected)
        assert getattr(traits.unusual[count - 1], name) is not None


def test_metadata_says_how_many_messages_there_are_where_the_producer_did_not():
    assert traits_of([entry(), entry(batch=7)], [0, 0]).message_counts == [1, 7]
    assert traits_of([entry(), entry(batch=7)]).message_counts == [1, 7]
    assert traits_of([entry(n, batch=7) for n in range(50)]).message_counts == [7] * 50
    assert traits_of([entry(batch=0)]).message_counts == [1]


def test_a_metadata_that_begins_as_metadata_does_is_taken_at_its_producers_word():
    assert traits_of([b"\0\0\0\x05\x0a\xff\xff\xff\xffpayload"], [3]).message_counts == [3]


@pytest.mark.parametrize("bad", [CORRUPT, b"\0\0", b"", b"\0\0\0\0x"])
def test_what_does_not_is_looked_into_whatever_its_producer_said(bad):
    traits = traits_of([entry(), bad], [1, 3])
    assert (dict(traits.unusual), traits.message_counts) == ({1: None}, [1, 1])


def test_a_sequence_id_that_looks_like_a_delay_is_none():
    """Its varint has the bytes of the field's tag."""
    assert not traits_of([entry(152), entry(152 + 16_384)], [1, 1]).unusual


NUMBERS = st.one_of(st.integers(0, 300), st.integers(0, 2**63))
ENTRIES = st.one_of(
    st.builds(entry, NUMBERS, NUMBERS),
    st.builds(entry, st.integers(100, 200), st.just(1), partition_key=st.text(max_size=5)),
    st.builds(
        lambda number, fields: entry(number, **fields),
        NUMBERS,
        st.sampled_from([*UNUSUAL.values(), {"deliver_at_time": 5_000}]),
    ),
    st.binary(max_size=20),
)


@given(
    runs=st.lists(ENTRIES, min_size=1, max_size=8),
    repeats=st.integers(1, 12),
    counts=st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_run_is_seen_as_each_of_its_entries(runs, repeats, counts):
    data = runs * repeats
    traits = traits_of(data, [0] * len(data) if counts else None)
    naive = dict(enumerate(map(seen_in, data)))
    expected = {index: its for index, its in naive.items() if its is None or its.unusual}
    assert dict(traits.unusual) == expected
    due_ms = [(its and its.deliver_at_ms) or 0 for its in naive.values()]
    assert list(traits.due_ms) == (due_ms if any(due_ms) else [])
    assert traits.message_counts == [
        1 if its is None else max(its.message_count, 1) for its in naive.values()
    ]


def test_traits_are_cut_and_joined_as_their_run_is():
    data = [entry(), CORRUPT, entry(batch=3), entry(deliver_at_time=5)]
    whole = traits_of(data)
    for part in (whole.part(1, 4), traits_of(data[1:2]).joined([traits_of(data[2:])])):
        assert part.message_counts == [1, 3, 1]
        assert part.message_count == 5
        assert dict(part.unusual) == {0: None}
        assert list(part.due_ms) == [0, 0, 5]
    assert not EntryTraits([1]).joined([EntryTraits([2])]).unusual
    assert whole.part(0, 2).joined([EntryTraits([2])]).due_ms == ()


def test_a_run_of_sends_is_looked_at_once_and_so_are_its_parts():
    data = [entry(), entry(batch=3), entry(deliver_at_time=5)]
    run = SendRun.of(3, [1, 2, 3], data, [11, 12, 13], [1, 3, 1], [0, 2, 3])
    assert run.traits is run.traits
    part = run.part(1, 3)
    assert (part.producer_id, part.sequences, part.data) == (3, [2, 3], data[1:])
    assert (part.checksums, part.highest) == ([12, 13], [2, 3])
    assert (part.traits.message_counts, list(part.traits.due_ms)) == ([3, 1], [0, 5])
