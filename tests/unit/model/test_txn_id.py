"""model/txn_id.py: the id of a transaction."""

from magnetar.model.txn_id import TxnId


def test_an_id_is_shown_as_pulsar_shows_it():
    assert str(TxnId(3, 17)) == "(3,17)"


def test_an_id_equals_the_pair_of_numbers_that_metadata_tells():
    assert TxnId(3, 17) == (3, 17)
