import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import CorruptEntry, InvalidValue
from magnetar.storage.ledger.offload_frames import (
    FRAME_SIZE_MAX,
    entries_body,
    frame,
    frame_size,
    parse_entries,
    parse_frame,
)
from magnetar.storage.ledger.store import LedgerEntries


def test_a_frame_comes_back_as_it_was_sent():
    sent = frame({"do": "read", "first": 4}, b"body")
    assert frame_size(sent[:4]) == len(sent) - 4
    assert parse_frame(sent[4:]) == ({"do": "read", "first": 4}, b"body")


@given(st.lists(st.binary(max_size=20)))
def test_entries_come_back_as_they_were_sent(data):
    entries = LedgerEntries(data, [7 + index for index in range(len(data))])
    assert parse_entries(entries_body(entries)) == entries


@pytest.mark.parametrize("size", [0, 4, FRAME_SIZE_MAX + 1])
def test_a_frame_of_an_impossible_size_is_refused(size):
    with pytest.raises(InvalidValue, match=f"a frame of {size} bytes"):
        frame_size(size.to_bytes(4))


@pytest.mark.parametrize("header", [b"{", b"[]"])
def test_a_frame_whose_header_is_no_object_is_refused(header):
    with pytest.raises(InvalidValue, match="a frame whose header is"):
        parse_frame(len(header).to_bytes(4) + header)


@pytest.mark.parametrize("cut", [0, 3, 9, 13])
def test_entries_that_are_cut_off_are_refused(cut):
    with pytest.raises(CorruptEntry):
        parse_entries(entries_body(LedgerEntries([b"one"], [7]))[:cut])
