"""How many messages entries hold, where nobody said."""

import gc

import pytest

from magnetar.broker.topics.weighing import messages_in, size_bytes_of, weigh
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.run import EntryRun

CORRUPT = b"\0\0\0\x05\xff\xff\xff\xff\xffpayload"


def run(*entries, weights=None):
    return EntryRun(1, 10, list(entries), [0] * len(entries), weights or [0] * len(entries))


def test_entries_are_weighed_by_their_metadata(make_entry):
    found = weigh(run(make_entry("a"), make_entry("b", batch=7)))
    assert found.corrupt == []
    assert [part.weights for part in found.runs] == [[1, 7]]


def test_the_run_itself_is_not_changed_and_is_weighed_once(make_entry):
    whole = run(make_entry("a"), make_entry("b", batch=7))
    first = weigh(whole)
    assert whole.weights == [0, 0]
    assert weigh(whole) is first


def test_what_the_producer_said_is_not_looked_at_again():
    whole = run(b"\0\0\0\x05\x0a\xff\xff\xff\xffpayload", weights=[3])
    assert weigh(whole).runs == [whole]


def test_what_does_not_begin_as_metadata_is_looked_at_whatever_the_producer_said(make_entry):
    assert weigh(run(make_entry("a"), CORRUPT, weights=[1, 3])).corrupt == [Position(1, 11)]
    assert weigh(run(b"\0\0", weights=[1])).corrupt == [Position(1, 10)]


def test_a_run_is_cut_around_entries_nobody_can_read(make_entry):
    whole = run(CORRUPT, make_entry("a"), make_entry("b"), CORRUPT, make_entry("c"), CORRUPT)
    found = weigh(whole)
    assert [(part.first_entry_id, len(part)) for part in found.runs] == [(11, 2), (14, 1)]
    assert found.corrupt == [Position(1, 10), Position(1, 13), Position(1, 15)]


def test_chunks_are_found_also_in_cuts(make_entry):
    chunk = make_entry("x", uuid="u", chunk_id=1, num_chunks_from_msg=2)
    whole = run(make_entry("a"), CORRUPT, make_entry("b"), chunk)
    found = weigh(whole)
    assert found.chunks[0] == {}
    assert {i: (c.uuid, c.last) for i, c in found.chunks[1].items()} == {1: ("u", True)}
    assert {i: c.uuid for i, c in weigh(whole.part(2, 4)).chunks[0].items()} == {1: "u"}


@pytest.mark.parametrize("weights", [None, [1, 7]])
def test_a_run_never_refers_to_itself(make_entry, weights):
    whole = run(make_entry("a"), make_entry("b", batch=7), weights=weights)
    for part in weigh(whole).runs:
        assert (messages_in(part), size_bytes_of(part)) == (8, sum(map(len, whole.data)))
    seen, found = [whole.memo], set()
    while seen:
        one = seen.pop()
        if id(one) not in found and isinstance(one, dict | list | tuple | EntryRun):
            found.add(id(one))
            seen += gc.get_referents(one)
    assert id(whole) not in found
    assert weigh(whole).runs[0].weights == [1, 7]
