import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import (
    CorruptEntry,
    EntryNotFound,
    LedgerFenced,
    LedgerNotFound,
    NotEnoughBookies,
    StorageError,
    WriteFailed,
)
from magnetar.storage.ledger.many_logs import frames
from magnetar.storage.ledger.store import LedgerEnd, LedgerEntries

ENTRIES = st.lists(st.tuples(st.binary(max_size=20), st.integers(0, 2**32 - 1)), max_size=9)


@given(ENTRIES)
def test_entries_come_back(pairs):
    entries = LedgerEntries([data for data, _ in pairs], [checksum for _, checksum in pairs])
    assert frames.decode_entries(frames.encode_entries(entries)) == entries


@given(st.integers(-1, 2**62), st.integers(0, 2**62))
def test_an_end_comes_back(last, size):
    assert frames.decode_end(frames.encode_end(LedgerEnd(last, size))) == (last, size)


@pytest.mark.parametrize(
    "kind", [StorageError, LedgerNotFound, EntryNotFound, CorruptEntry, LedgerFenced, WriteFailed]
)
def test_errors_come_back_as_they_were(kind):
    found = frames.decode_error(*frames.encode_error(kind("why")))
    assert type(found) is kind
    assert str(found) == "why"


def test_an_error_that_is_not_listed_is_one_of_storage():
    assert type(frames.decode_error(*frames.encode_error(NotEnoughBookies("x")))) is StorageError
