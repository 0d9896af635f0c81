import pytest

from magnetar.storage.managed_ledger.rollover import due
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings

LIMITS = ManagedLedgerSettings(
    entries_per_ledger_max=100, ledger_size_max=1000, ledger_age_min_s=10, ledger_age_max_s=60
)


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
    assert due(entry_count, size_bytes, age_s, LIMITS) is expected
