"""Where ledgers are in a metadata store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import InvalidValue
from magnetar.storage.ledger.bookkeeper.ledger_paths import check_layout, ledger_id_of, path_of


@pytest.mark.parametrize(
    ("ledger_id", "path"),
    [
        (1234567890, "/12/3456/L7890"),
        (36, "/00/0000/L0036"),
        (2147483647, "/000/0000/0021/4748/L3647"),
        (4294967301, "/000/0000/0042/9496/L7301"),
    ],
)
def test_ledgers_are_where_bookkeeper_looks_for_them(ledger_id, path):
    assert path_of(ledger_id) == path
    assert ledger_id_of(path) == ledger_id


@given(st.integers(0, 2**63 - 1))
def test_every_ledger_is_found_by_its_path(ledger_id):
    assert ledger_id_of(path_of(ledger_id)) == ledger_id


def test_what_is_no_ledger_has_no_id():
    assert [ledger_id_of(path) for path in ("/available", "/idgen/ID-1", "/00/0000")] == [None] * 3


def test_other_layouts_are_refused_by_name():
    check_layout(b"2\norg.apache.bookkeeper.meta.HierarchicalLedgerManagerFactory:1")
    with pytest.raises(InvalidValue, match="FlatLedgerManagerFactory"):
        check_layout(b"2\norg.apache.bookkeeper.meta.FlatLedgerManagerFactory:1")
