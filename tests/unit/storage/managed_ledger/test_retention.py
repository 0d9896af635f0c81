import pytest

from magnetar.model.position import Position
from magnetar.storage.codec.ledger_list import SealedLedger
from magnetar.storage.managed_ledger.retention import FOR_EVER, removable
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings

# Three ledgers of ten entries and 100 bytes, sealed at 1, 2 and 3 seconds; now it is 4 seconds.
SEALED = [SealedLedger(ledger_id, 9, 100, ledger_id * 1000) for ledger_id in (1, 2, 3)]


def count(slowest=None, *, time_s=0, size_bytes=0, stored=350, now_ms=4000):
    limits = ManagedLedgerSettings(retention_time_s=time_s, retention_size_bytes=size_bytes)
    found = removable(SEALED, slowest, limits, size_bytes=stored, now_ms=now_ms)
    assert found == [1, 2, 3][: len(found)], "the oldest go first"
    return len(found)


def test_without_cursors_and_retention_everything_sealed_goes():
    assert count() == 3


@pytest.mark.parametrize(
    ("slowest", "expected"),
    [((0, 5), 0), ((1, 8), 0), ((1, 9), 1), ((2, -1), 1), ((3, 9), 3), ((4, 0), 3)],
)
def test_what_the_slowest_cursor_needs_stays(slowest, expected):
    assert count(Position(*slowest)) == expected


def test_time_keeps_young_ledgers():
    assert count(time_s=2, size_bytes=FOR_EVER) == 2
    assert count(time_s=4, size_bytes=FOR_EVER) == 0


def test_size_keeps_as_much_as_it_allows():
    assert count(time_s=FOR_EVER, size_bytes=350) == 0
    assert count(time_s=FOR_EVER, size_bytes=349) == 1
    assert count(time_s=FOR_EVER, size_bytes=250) == 1
    assert count(time_s=FOR_EVER, size_bytes=249) == 2
    assert count(time_s=FOR_EVER, size_bytes=1) == 3


def test_either_limit_lets_a_ledger_go():
    assert count(time_s=2, size_bytes=349) == 2
    assert count(time_s=100, size_bytes=249) == 2


def test_for_ever_keeps_everything():
    assert count(time_s=FOR_EVER, size_bytes=FOR_EVER, now_ms=10**15) == 0


def test_a_clock_that_went_back_does_not_keep_what_has_no_retention():
    assert count(now_ms=0) == 3
