"""inner/plain/receipt_runs.py: what is cut, and where it ends."""

import pytest
from unit.inner.builds import both_builds

from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.frames import encode

LARGE = 1 << 24

pytestmark = both_builds


def one(sequence, highest=0, *, producer_id=1, entry_id=5, **fields):
    command = pb.BaseCommand(
        type=pb.BaseCommand.SEND_RECEIPT,
        send_receipt=pb.CommandSendReceipt(
            producer_id=producer_id,
            sequence_id=sequence,
            highest_sequence_id=highest,
            message_id=pb.MessageIdData(ledgerId=7, entryId=entry_id, **fields),
        ),
    )
    return framed(command)


def framed(command):
    data = command.SerializeToString()
    return b"%b%b%b" % ((len(data) + 4).to_bytes(4), len(data).to_bytes(4), data)


@pytest.mark.parametrize("first", [0, 120, 16_380, 2**63 - 1])
def test_receipts_of_a_producer_are_a_run(loops, first):
    sequences, highest = list(range(first, first + 10)), [1 << 63, *range(9)]
    data = b"?" + b"".join(map(one, sequences, highest))
    assert loops.cut_receipts(data, 1, LARGE) == (len(data), [(1, sequences, highest)])


def test_they_are_those_that_a_broker_writes(loops):
    data = loops.send_receipts(3, [4, 5], [6, 7], 8, 9)
    assert loops.cut_receipts(data, 0, LARGE) == (len(data), [(3, [4, 5], [6, 7])])


def test_producers_are_told_apart_in_the_order_of_the_wire(loops):
    data = one(1) + one(2) + one(3, producer_id=2**64 - 1) + one(4)
    found = [(1, [1, 2], [0, 0]), (2**64 - 1, [3], [0]), (1, [4], [0])]
    assert loops.cut_receipts(data, 0, LARGE) == (len(data), found)


@pytest.mark.parametrize(
    "other",
    [
        encode(pb.CommandPong()),
        one(3, batch_index=1),
        one(3)[:-1],
        framed(
            pb.BaseCommand(
                type=pb.BaseCommand.SEND_RECEIPT,
                send_receipt=pb.CommandSendReceipt(producer_id=1, sequence_id=3),
            )
        ),
    ],
)
def test_a_run_ends_before_what_is_not_plain(loops, other):
    assert loops.cut_receipts(one(1) + other, 0, LARGE) == (len(one(1)), [(1, [1], [0])])
    assert loops.cut_receipts(other, 0, LARGE) == (0, [])


def test_what_is_too_large_is_not_cut(loops):
    assert loops.cut_receipts(one(1), 0, len(one(1)) - 5) == (0, [])


@pytest.mark.parametrize("at", [11, 17])
def test_a_size_that_is_wrong_is_not_plain(loops, at):
    data = bytearray(one(1))
    data[at] += 1
    assert loops.cut_receipts(bytes(data), 0, LARGE) == (0, [])


@pytest.mark.parametrize(("position", "size"), [(-1, 5), (100, 5), (0, -1)])
def test_a_place_that_is_none_is_refused(loops, position, size):
    with pytest.raises((ValueError, OverflowError)):
        loops.cut_receipts(one(1), position, size)
