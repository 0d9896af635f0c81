from magnetar.broker.topics import ended_transactions
from magnetar.broker.topics.ended_transactions import EndedTransactions
from magnetar.model.txn_id import TxnId


def test_it_has_ended_when_its_end_was_told_or_it_lies_below_the_watermark(monkeypatch):
    monkeypatch.setattr(ended_transactions, "ENDED_MAX", 2)
    ends = EndedTransactions()
    for number in (10, 11, 12):
        ends.end(TxnId(7, number))
    assert [n for n in (10, 11, 12, 13) if TxnId(7, n) in ends] == [11, 12]
    ends.raise_watermark(7, 10)
    assert TxnId(7, 10) in ends
    assert TxnId(8, 10) not in ends


def test_a_watermark_finds_those_that_began_once_in_whatever_order():
    ends = EndedTransactions()
    for number in (5, 2, 9):
        ends.begin(TxnId(0, number))
    assert ends.raise_watermark(1, 9) == []
    assert ends.raise_watermark(0, 5) == [TxnId(0, 2), TxnId(0, 5)]
    assert ends.raise_watermark(0, 4) == []
    assert ends.low_watermarks == {0: 5, 1: 9}
