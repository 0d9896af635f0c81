from magnetar.storage.codec.ledger_list import SealedLedger
from magnetar.storage.codec.offload_context import OffloadContext
from magnetar.storage.managed_ledger.offload_due import before, copied, to_drop, to_offload

SEALED = [SealedLedger(ledger_id, 9, 100, ledger_id * 1000) for ledger_id in (1, 2, 3)]
COPY = OffloadContext("a", "filesystem", complete=True, timestamp_ms=5_000)


def due(sealed=SEALED, *, threshold_bytes=-1, threshold_s=-1, now_ms=3_000):
    return to_offload(
        sealed, threshold_bytes=threshold_bytes, threshold_s=threshold_s, now_ms=now_ms
    )


def offloaded(ledger, **changed):
    return ledger._replace(offload=COPY._replace(**changed))


def test_without_thresholds_nothing_is_due():
    assert due() == []


def test_so_many_bytes_of_the_newest_stay():
    assert due(threshold_bytes=0) == [1, 2, 3]
    assert due(threshold_bytes=100) == [1, 2]
    assert due(threshold_bytes=299) == [1]
    assert due(threshold_bytes=300) == []


def test_what_was_sealed_long_ago_goes():
    assert due(threshold_s=0) == [1, 2, 3]
    assert due(threshold_s=1) == [1, 2]
    assert due(threshold_s=1, threshold_bytes=250) == [1, 2]


def test_what_has_a_copy_is_not_copied_again_and_an_attempt_is_no_copy():
    sealed = [offloaded(SEALED[0]), offloaded(SEALED[1], complete=False), SEALED[2]]
    assert list(map(copied, sealed)) == [True, False, False]
    assert due(sealed, threshold_bytes=0) == [2, 3]
    assert before(sealed, 3) == [2]
    assert before(SEALED, 9) == [1, 2, 3]


def test_what_has_a_copy_goes_when_the_lag_is_over():
    sealed = [
        offloaded(SEALED[0]),
        offloaded(SEALED[1], local_deleted=True),
        offloaded(SEALED[2], complete=False),
    ]
    assert to_drop(sealed, lag_ms=1_000, now_ms=5_999) == []
    assert to_drop(sealed, lag_ms=1_000, now_ms=6_000) == [1]
    assert to_drop(SEALED, lag_ms=0, now_ms=6_000) == []
