"""inner/plain/acks.py: what is cut, and where it ends."""

import pytest
from unit.inner.builds import both_builds
from unit.wire.sending import framed

from magnetar.model.position import Position
from magnetar.wire import requests

LARGE = 1 << 24


pytestmark = both_builds


def one(entry_id, *, consumer_id=1, ledger_id=7, **fields):
    return requests.ack(consumer_id, [Position(ledger_id, entry_id)], **fields)


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 300, 1000])
@pytest.mark.parametrize("first", [0, 120, 16_380, 5_000_000])
def test_alone_or_in_a_list_they_are_the_same_run(loops, count, first):
    entry_ids = list(range(first, first + count))
    alone = b"".join(map(one, entry_ids))
    listed = requests.ack(1, [Position(7, entry) for entry in entry_ids])
    expected = {1: {7: entry_ids}}
    assert loops.cut_acks(alone, 0, LARGE) == (len(alone), expected)
    assert loops.cut_acks(listed, 0, LARGE) == (len(listed), expected)
    both = b"?" + alone + listed
    assert loops.cut_acks(both, 1, LARGE) == (len(both), {1: {7: entry_ids * 2}})


def test_ledgers_are_told_apart(loops):
    data = one(1) + one(2, ledger_id=300) + requests.ack(1, [Position(300, 1), Position(7, 9)])
    assert loops.cut_acks(data, 0, LARGE) == (len(data), {1: {7: [1, 9], 300: [2, 1]}})


def test_consumers_are_told_apart(loops):
    parts = [one(1), one(2, consumer_id=2**63), one(3), one(4, consumer_id=2**63), one(5)]
    data = b"".join(parts)
    found = {1: {7: [1, 3, 5]}, 2**63: {7: [2, 4]}}
    assert loops.cut_acks(data, 0, LARGE) == (len(data), found)


def test_ledgers_and_consumers_may_take_turns(loops):
    pairs = [(consumer, ledger) for consumer in (1, 2) for ledger in (7, 8)] * 3
    parts = [one(n, consumer_id=c, ledger_id=ledger) for n, (c, ledger) in enumerate(pairs)]
    _, found = loops.cut_acks(b"".join(parts), 0, LARGE)
    assert found == {1: {7: [0, 4, 8], 8: [1, 5, 9]}, 2: {7: [2, 6, 10], 8: [3, 7, 11]}}


@pytest.mark.parametrize(
    "other",
    [
        requests.flow(1, 5),
        one(3, cumulative=True),
        one(3, request_id=1),
        one(3, ack_sets=[[1]]),
        one(2**64 - 1),
        one(3)[:-1],
        requests.ack(1, []),
        requests.ack(1, [Position(7, 3), Position(7, 2**64 - 1)]),
    ],
)
def test_a_run_ends_before_what_is_not_plain(loops, other):
    assert loops.cut_acks(one(1) + other, 0, LARGE) == (len(one(1)), {1: {7: [1]}})
    assert loops.cut_acks(other, 0, LARGE) == (0, {})


def test_what_is_too_large_is_not_cut(loops):
    assert loops.cut_acks(one(1), 0, len(one(1)) - 5) == (0, {})


def test_an_id_whose_size_is_wrong_is_not_plain(loops):
    data = bytearray(one(1))
    at = data.index(b"\x1a") + 1
    data[at] += 1
    assert loops.cut_acks(bytes(data), 0, LARGE) == (0, {})


def test_ids_need_not_be_alike(loops):
    entry_ids = [1 if n % 2 else 1000 for n in range(200)] + list(range(200, 3000))
    data = requests.ack(1, [Position(7, entry) for entry in entry_ids])
    assert loops.cut_acks(data, 0, LARGE) == (len(data), {1: {7: entry_ids}})


def test_numbers_may_have_any_form(loops):
    number = b"\x85\x80\x00"
    command = b"\x08\x0a\x52\x10\x08%b\x10\x00\x1a\x08\x08%b\x10%b" % ((number,) * 3)
    data = framed(command)
    assert loops.cut_acks(data, 0, LARGE) == (len(data), {5: {5: [5]}})


def test_what_makes_no_sense_is_refused(loops):
    for arguments in [(b"", 1, 9), (b"", -1, 9), (b"", 0, -1)]:
        with pytest.raises(ValueError, match=r"position|size"):
            loops.cut_acks(*arguments)
