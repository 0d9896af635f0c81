"""inner/plain/receipts.py: many receipts at once are the single ones in a row."""

import pytest
from unit.inner.builds import both_builds

from magnetar.wire.replies import send_receipt

pytestmark = both_builds


def singly(producer_id, sequences, highest, ledger_id, first_entry_id):
    return b"".join(
        send_receipt(
            producer_id, sequence, ledger_id, first_entry_id + index, highest_sequence_id=top
        )
        for index, (sequence, top) in enumerate(zip(sequences, highest, strict=True))
    )


def check(loops, sequences, *, highest=None, producer_id=1, ledger_id=1, first_entry_id=100):
    said = (
        producer_id,
        list(sequences),
        highest or [0] * len(sequences),
        ledger_id,
        first_entry_id,
    )
    assert loops.send_receipts(*said) == singly(*said)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 100, 1000])
@pytest.mark.parametrize("first_entry_id", [0, 120, 127, 128, 16_380, 16_384, 32_760, 2_097_150])
def test_receipts_of_a_run(loops, count, first_entry_id):
    check(loops, range(500, 500 + count), ledger_id=77, first_entry_id=first_entry_id)


@pytest.mark.parametrize("first", [0, 120, 16_300, 2_097_000])
def test_sequence_ids_may_grow_by_a_byte(loops, first):
    check(loops, range(first, first + 300), producer_id=300, ledger_id=2**40)


def test_sequence_ids_may_be_in_any_order(loops):
    check(loops, [5, 2**64 - 1, 3, 3, 300, 70_000, 4] * 20)


def test_all_numbers_may_be_as_large_as_they_can(loops):
    most = 2**64 - 1
    check(loops, [most], highest=[most], producer_id=most, ledger_id=most, first_entry_id=2**63 - 1)


def test_a_duplicate_has_no_position(loops):
    check(loops, [7], ledger_id=-1, first_entry_id=-1)


@pytest.mark.parametrize("count", [2, 50])
def test_highest_sequence_ids_come_back(loops, count):
    sequences = range(0, 1000 * count, 1000)
    check(loops, sequences, highest=[number + 999 for number in sequences])


def test_every_send_needs_a_highest_sequence_id(loops):
    with pytest.raises(ValueError, match=r"highest|shorter"):
        loops.send_receipts(1, [1, 2], [0], 1, 1)


def test_what_is_stored_nowhere_has_one_id(loops):
    one = loops.send_receipts(1, [5], [9], 0, 0)
    assert loops.send_receipts(1, [5] * 3, [9] * 3, 0, 0, 0) == one * 3
    gone = loops.send_receipts(1, [5], [9], -1, -1)
    assert loops.send_receipts(1, [5] * 3, [9] * 3, -1, -1, 0) == gone * 3
