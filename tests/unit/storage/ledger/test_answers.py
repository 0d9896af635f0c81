from magnetar.storage.ledger.answers import fenced


def test_the_answer_names_the_ledger_and_the_reason():
    assert str(fenced(3, "it was closed")) == "ledger 3 takes no more entries: it was closed"
