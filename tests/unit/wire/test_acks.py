"""wire/acks.py: what is cut into a run, and where it ends."""

import pytest

from magnetar.model.position import Position
from magnetar.wire import requests
from magnetar.wire.acks import AckRun, cut_acks

LARGE = 1 << 24


def cut(data, position=0, total_size_max=LARGE):
    return cut_acks(data, position, total_size_max=total_size_max)


def one(entry_id, *, consumer_id=1, ledger_id=7, **fields):
    return requests.ack(consumer_id, [Position(ledger_id, entry_id)], **fields)


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 300, 1000])
@pytest.mark.parametrize("first", [0, 120, 16_380, 5_000_000])
def test_alone_or_in_a_list_they_are_the_same_run(count, first):
    entry_ids = list(range(first, first + count))
    alone = b"".join(map(one, entry_ids))
    listed = requests.ack(1, [Position(7, entry) for entry in entry_ids])
    expected = AckRun(1, {7: entry_ids})
    assert cut(alone) == (expected, len(alone))
    assert cut(listed) == (expected, len(listed))
    assert cut(b"?" + alone + listed, 1) == (AckRun(1, {7: entry_ids * 2}), 1 + len(alone + listed))


def test_ledgers_are_told_apart():
    data = one(1) + one(2, ledger_id=300) + requests.ack(1, [Position(300, 1), Position(7, 9)])
    assert cut(data) == (AckRun(1, {7: [1, 9], 300: [2, 1]}), len(data))


def test_a_run_ends_with_its_consumer():
    first = one(1) + one(2)
    assert cut(first + one(3, consumer_id=2)) == (AckRun(1, {7: [1, 2]}), len(first))


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
def test_a_run_ends_before_what_is_not_plain(other):
    assert cut(one(1) + other) == (AckRun(1, {7: [1]}), len(one(1)))
    assert cut(other) == (None, 0)


def test_what_is_too_large_is_not_cut():
    assert cut(one(1), total_size_max=len(one(1)) - 5) == (None, 0)


def test_an_id_whose_size_is_wrong_is_not_plain():
    data = bytearray(one(1))
    at = data.index(b"\x1a") + 1
    data[at] += 1
    assert cut(bytes(data)) == (None, 0)


def test_a_long_list_of_ids_that_are_not_alike_is_left_to_protobuf():
    unlike = [Position(7, 1 if n % 2 else 1000) for n in range(200)]
    assert cut(requests.ack(1, unlike)) == (None, 0)
    some = unlike[:40]
    assert cut(requests.ack(1, some))[0].entry_ids == {7: [entry for _, entry in some]}
    alike = [Position(7, n) for n in range(200, 3000)]
    assert len(cut(requests.ack(1, some + alike))[0].entry_ids[7]) == 2840
