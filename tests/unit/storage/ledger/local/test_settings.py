import pytest

from magnetar.errors import InvalidValue
from magnetar.storage.ledger.local.settings import LocalLedgerSettings


@pytest.mark.parametrize(
    "settings",
    [
        {"segment_size": 1000},
        {"segment_size": 2**40},
        {"interval_s": 0},
        {"compaction_share": 1.5},
        {"compaction_retry_s": 0},
        {"segments_spare_max": -1},
        {"pending_bytes_max": 0},
    ],
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(InvalidValue, match=next(iter(settings))):
        LocalLedgerSettings(**settings)
