from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.topics import ended_transactions
from magnetar.broker.topics.transaction_buffer import TransactionBuffer
from magnetar.model.position import Position
from magnetar.model.txn_id import TxnId
from magnetar.storage.managed_ledger.run import EntryRun

ONE, TWO = TxnId(0, 1), TxnId(0, 2)


def run_of(first, count, ledger_id=0):
    return EntryRun(ledger_id, first, [b"%d" % (first + n) for n in range(count)], [0] * count)


def stored(buffer, transaction, *entries):
    for each in entries:
        buffer.stored(transaction, each, producer="p", published_ms=5)


def test_the_oldest_transaction_is_the_one_whose_first_entry_comes_first():
    buffer = TransactionBuffer()
    stored(buffer, TWO, (0, 3, 4))
    stored(buffer, ONE, (0, 5, 5))
    stored(buffer, TWO, (0, 6, 6), (0, 7, 9), (1, 0, 0))
    transaction, its = buffer.oldest
    assert (transaction, its.first, its.producer, its.since_ms) == (TWO, Position(0, 3), "p", 5)
    assert its.entries == [(0, 3, 4), (0, 6, 9), (1, 0, 0)]
    assert buffer.end(TWO, Position(1, 1), commit=True) == ()
    assert buffer.oldest[0] == ONE


def test_what_was_aborted_is_known_until_it_is_trimmed():
    buffer = TransactionBuffer()
    stored(buffer, ONE, (0, 3, 4), (0, 6, 6), (2, 0, 1))
    ended = buffer.end(ONE, Position(2, 2), commit=False)
    assert ended == [(0, 3, 4), (0, 6, 6), (2, 0, 1), (2, 2, 2)]
    assert buffer.first_aborted(Position(2, 2)) == Position(2, 0)
    assert [n for n in range(9) if buffer.first_aborted(Position(0, n))] == [3, 4, 6]
    buffer.forget(Position(0, 4))
    assert [n for n in range(9) if buffer.first_aborted(Position(0, n))] == [6]
    buffer.forget(Position(0, 8))
    assert list(buffer.aborted) == [2]
    buffer.forget(Position(5, -1))
    assert not buffer.aborted


def test_one_of_which_nothing_is_left_is_not_open_any_more():
    buffer = TransactionBuffer()
    stored(buffer, ONE, (0, 3, 4))
    stored(buffer, TWO, (0, 5, 5), (0, 7, 7))
    buffer.forget(Position(0, 3))
    assert list(buffer.open) == [ONE, TWO]
    buffer.forget(Position(0, 6))
    assert list(buffer.open) == [TWO]


@given(st.sets(st.integers(0, 30)), st.integers(0, 20), st.integers(1, 15))
def test_parts_and_indexes_tell_the_same(aborted, first, count):
    buffer = TransactionBuffer()
    buffer.abort((0, each, each) for each in aborted)
    run = run_of(first, count)
    left = [n for n in range(first, first + count) if n not in aborted]
    assert [int(each) for part in buffer.shown(run) for each in part.data] == left
    indexes = buffer.aborted_in(run)
    assert [first + n for n in range(count) if n not in indexes] == left
    other = run_of(first, count, ledger_id=1)
    assert (buffer.shown(other), buffer.aborted_in(other)) == ([other], set())


def test_a_transaction_has_ended_when_it_did_or_lies_below_the_watermark(monkeypatch):
    monkeypatch.setattr(ended_transactions, "ENDED_MAX", 2)
    buffer = TransactionBuffer()
    stored(buffer, ONE, (0, 0, 0))
    stored(buffer, TxnId(7, 1), (0, 1, 1))
    assert not buffer.has_ended(ONE)
    assert buffer.raise_watermark(0, 3) == [ONE]
    assert buffer.raise_watermark(0, 3) == []
    assert buffer.has_ended(TWO)
    assert not buffer.has_ended(TxnId(7, 1))
    for number in (10, 11, 12):
        buffer.end(TxnId(7, number), Position(0, number), commit=True)
    assert [n for n in (10, 11, 12) if buffer.has_ended(TxnId(7, n))] == [11, 12]
