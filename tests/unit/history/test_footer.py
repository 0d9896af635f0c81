import json

import pytest

from magnetar.errors import CorruptEntry
from magnetar.history.footer import KEY, Footer, RowGroup

GROUPS = (RowGroup(0, 10, 100, 4_000, 70), RowGroup(10, 5, 0, 9_000, 30))
FOOTER = Footer("persistent://a/b/c", 2, 7, 15, 1_234, 100, 3, 5, 9, (0, 2), GROUPS)


def test_a_footer_comes_back_as_it_was_written():
    assert Footer.decode({KEY: FOOTER.encode(), b"ARROW:schema": b""}, "f") == FOOTER


def test_an_entry_is_in_the_row_group_that_begins_at_it_or_before_it():
    assert [FOOTER.group_of(entry) for entry in (0, 9, 10, 14)] == [0, 0, 1, 1]


def test_a_file_whose_rows_are_not_all_messages_is_not_whole():
    assert not FOOTER.whole
    assert FOOTER._replace(missing=0).whole


@pytest.mark.parametrize(
    "metadata",
    [None, {}, {KEY: b"not JSON"}, {KEY: b"[]"}, {KEY: b'{"version": 1}'}, {KEY: b'{"groups": 1}'}],
)
def test_a_file_of_others_is_refused_by_name(metadata):
    with pytest.raises(CorruptEntry, match=r"7-ab\.parquet is no file of a ledger"):
        Footer.decode(metadata, "7-ab.parquet")


def test_a_file_of_a_later_version_is_refused():
    later = json.dumps({**json.loads(FOOTER.encode()), "version": 2}).encode()
    with pytest.raises(CorruptEntry, match="version 2"):
        Footer.decode({KEY: later}, "7-ab.parquet")
