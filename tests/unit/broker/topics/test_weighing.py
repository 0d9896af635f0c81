"""How many messages entries hold, where nobody said."""

from magnetar.broker.topics.weighing import chunks_of, readable, weigh
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.run import EntryRun

CORRUPT = b"\0\0\0\x05\xff\xff\xff\xff\xffpayload"


def run(*entries, weights=None):
    return EntryRun(1, 10, list(entries), [0] * len(entries), weights or [0] * len(entries))


def test_entries_are_weighed_by_their_metadata(make_entry):
    weighed = run(make_entry("a"), make_entry("b", batch=7))
    assert weigh(weighed) == []
    assert weighed.weights == [1, 7]


def test_what_the_producer_said_is_not_looked_at_again():
    weighed = run(b"\0\0\0\x05\x0a\xff\xff\xff\xffpayload", weights=[3])
    assert weigh(weighed) == []
    assert weighed.weights == [3]


def test_what_does_not_begin_as_metadata_is_looked_at_whatever_the_producer_said(make_entry):
    assert weigh(run(make_entry("a"), CORRUPT, weights=[1, 3])) == [Position(1, 11)]
    assert weigh(run(b"\0\0", weights=[1])) == [Position(1, 10)]


def test_a_run_is_cut_around_entries_nobody_can_read(make_entry):
    whole = run(CORRUPT, make_entry("a"), make_entry("b"), CORRUPT, make_entry("c"), CORRUPT)
    parts, corrupt = readable(whole)
    assert [(part.first_entry_id, len(part)) for part in parts] == [(11, 2), (14, 1)]
    assert corrupt == [Position(1, 10), Position(1, 13), Position(1, 15)]


def test_chunks_are_found_also_in_parts(make_entry):
    chunk = make_entry("x", uuid="u", chunk_id=1, num_chunks_from_msg=2)
    whole = run(make_entry("a"), CORRUPT, make_entry("b"), chunk)
    parts, _ = readable(whole)
    assert {index: (c.uuid, c.last) for index, c in chunks_of(parts[1]).items()} == {1: ("u", True)}
    assert chunks_of(parts[0]) == {}
