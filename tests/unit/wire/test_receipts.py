"""wire/receipts.py: many receipts at once are the single ones in a row."""

import pytest

from magnetar.message.send_run import SendRun
from magnetar.message.varint import varint
from magnetar.wire.receipts import send_receipts
from magnetar.wire.replies import send_receipt


def run_of(sequences, *, producer_id=1, highest=None):
    count = len(sequences)
    data = [b"entry"] * count
    tops = None
    if highest is not None:
        tops = [b"" if number is None else varint(number) for number in highest]
    return SendRun(producer_id, list(map(varint, sequences)), data, [0] * count, [1] * count, tops)


def singly(sequences, ledger_id, first_entry_id, *, producer_id=1, highest=None):
    return b"".join(
        send_receipt(
            producer_id,
            sequence,
            ledger_id,
            first_entry_id + index,
            highest_sequence_id=(highest[index] or 0) if highest else 0,
        )
        for index, sequence in enumerate(sequences)
    )


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 100, 1000])
@pytest.mark.parametrize("first_entry_id", [0, 120, 127, 128, 16_380, 16_384, 32_760, 2_097_150])
def test_receipts_of_a_run(count, first_entry_id):
    sequences = range(500, 500 + count)
    made = send_receipts(run_of(sequences), 77, first_entry_id)
    assert made == singly(sequences, 77, first_entry_id)


@pytest.mark.parametrize("first", [0, 120, 16_300, 2_097_000])
def test_sequence_ids_may_grow_by_a_byte(first):
    sequences = range(first, first + 300)
    made = send_receipts(run_of(sequences, producer_id=300), 2**40, 100)
    assert made == singly(sequences, 2**40, 100, producer_id=300)


def test_sequence_ids_may_be_in_any_order():
    sequences = [5, 2**64 - 1, 3, 3, 300, 70_000, 4] * 20
    assert send_receipts(run_of(sequences), 1, 100) == singly(sequences, 1, 100)


def test_lengths_that_only_add_up_are_noticed():
    sequences = [300, 5, 70_000, 300] * 5  # 2, 1, 3 and 2 bytes: 8 for 4, as if all had 2.
    assert send_receipts(run_of(sequences), 1, 100) == singly(sequences, 1, 100)


@pytest.mark.parametrize("count", [2, 50])
def test_highest_sequence_ids_come_back(count):
    sequences = range(0, 1000 * count, 1000)
    highest = [number + 999 for number in sequences]
    made = send_receipts(run_of(sequences, highest=highest), 1, 0)
    assert made == singly(sequences, 1, 0, highest=highest)


@pytest.mark.parametrize("count", [2, 50])
def test_where_there_is_no_highest_sequence_id_it_is_zero(count):
    sequences = range(count)
    highest = [None if number % 3 else 40_000 + number for number in sequences]
    made = send_receipts(run_of(sequences, highest=highest), 1, 0)
    assert made == singly(sequences, 1, 0, highest=highest)
