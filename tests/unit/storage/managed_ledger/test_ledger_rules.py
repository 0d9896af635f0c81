import pytest

from magnetar.model.position import Position
from magnetar.storage.codec.ledger_list import SealedLedger
from magnetar.storage.codec.offload_context import OffloadContext
from magnetar.storage.managed_ledger.ledger_rules import (
    FOR_EVER,
    copied,
    removable,
    rollover_due,
    to_drop,
    to_offload,
    to_offload_before,
)
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings

LIMITS = ManagedLedgerSettings(
    entries_per_ledger_max=100, ledger_size_max=1000, ledger_age_min_s=10, ledger_age_max_s=60
)
# Three ledgers of ten entries and 100 bytes, sealed at 1, 2 and 3 seconds; now it is 4 seconds.
SEALED = [SealedLedger(ledger_id, 9, 100, ledger_id * 1000) for ledger_id in (1, 2, 3)]
COPY = OffloadContext("a", "filesystem", complete=True, timestamp_ms=5_000)


@pytest.mark.parametrize(
    ("entry_count", "size_bytes", "age_s", "expected"),
    [
        (99, 999, 59, False),
        (100, 999, 9, False),  # Too many entries, but too young.
        (100, 999, 10, True),
        (1, 1000, 0, True),  # Too many bytes count at once.
        (1, 1, 60, True),
        (0, 0, 1e9, False),  # An empty ledger is as good as a new one.
    ],
)
def test_a_ledger_rolls_over_when_it_is_full_or_old(entry_count, size_bytes, age_s, expected):
    assert rollover_due(entry_count, size_bytes, age_s, LIMITS) is expected


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


def due_to_offload(sealed=SEALED, *, threshold_bytes=-1, threshold_s=-1, now_ms=3_000):
    return to_offload(
        sealed, threshold_bytes=threshold_bytes, threshold_s=threshold_s, now_ms=now_ms
    )


def offloaded(ledger, **changed):
    return ledger._replace(offload=COPY._replace(**changed))


def test_without_thresholds_nothing_is_due():
    assert due_to_offload() == []


def test_so_many_bytes_of_the_newest_stay():
    assert due_to_offload(threshold_bytes=0) == [1, 2, 3]
    assert due_to_offload(threshold_bytes=100) == [1, 2]
    assert due_to_offload(threshold_bytes=299) == [1]
    assert due_to_offload(threshold_bytes=300) == []


def test_what_was_sealed_long_ago_goes():
    assert due_to_offload(threshold_s=0) == [1, 2, 3]
    assert due_to_offload(threshold_s=1) == [1, 2]
    assert due_to_offload(threshold_s=1, threshold_bytes=250) == [1, 2]


def test_what_has_a_copy_is_not_copied_again_and_an_attempt_is_no_copy():
    sealed = [offloaded(SEALED[0]), offloaded(SEALED[1], complete=False), SEALED[2]]
    assert list(map(copied, sealed)) == [True, False, False]
    assert due_to_offload(sealed, threshold_bytes=0) == [2, 3]
    assert to_offload_before(sealed, 3) == [2]
    assert to_offload_before(SEALED, 9) == [1, 2, 3]


def test_what_has_a_copy_goes_when_the_lag_is_over():
    sealed = [
        offloaded(SEALED[0]),
        offloaded(SEALED[1], local_deleted=True),
        offloaded(SEALED[2], complete=False),
    ]
    assert to_drop(sealed, lag_ms=1_000, now_ms=5_999) == []
    assert to_drop(sealed, lag_ms=1_000, now_ms=6_000) == [1]
    assert to_drop(SEALED, lag_ms=0, now_ms=6_000) == []
