"""Which sends of a replicator came before."""

from magnetar.broker.topics.publishing.source_positions import SourcePositions
from magnetar.model.position import Position

NAME = "pulsar.repl.west-->east"


def places(*entry_ids, ledger_id=3):
    return [None if each is None else Position(ledger_id, each) for each in entry_ids]


def test_what_is_not_behind_the_last_place_is_a_duplicate():
    known = SourcePositions()
    assert known.duplicates(NAME, places(0, 1, None, 2)) == {}
    assert known.duplicates(NAME, places(1, None, 2, 3)) == {0: True, 2: True}
    assert known.duplicates(NAME, places(9, ledger_id=2)) == {0: True}
    assert known.duplicates(NAME, places(0, ledger_id=4)) == {}
    assert known.duplicates("another", places(0)) == {}
    assert known.duplicates("markers", places(None)) == {}


def test_only_what_is_stored_is_kept():
    known = SourcePositions()
    known.duplicates(NAME, places(0, 1))
    assert known.snapshot() == {}
    known.stored(NAME, places(0, 1, None))
    kept = known.snapshot() | {"of a producer": "7", "odd_LID": "5"}
    assert kept[f"{NAME}_LID"], kept[f"{NAME}_EID"] == ("3", "1")
    again = SourcePositions()
    assert again.restore(kept) == {"of a producer": "7", "odd_LID": "5"}
    assert again.duplicates(NAME, places(1, 2)) == {0: True}
