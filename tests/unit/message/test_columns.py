"""message/columns.py: how far records are alike."""

import pytest

from magnetar.message.columns import count_alike


def alike(records, *, head_size, varints=(), count_max=100):
    (size,) = {len(record) for record in records}
    data = b"!" + b"".join(records) + b"rest"
    return count_alike(data, 1, size, head_size=head_size, varints=varints, count_max=count_max)


def test_records_that_are_equal_are_alike():
    assert alike([b"abcd"] * 9, head_size=4) == 9


def test_what_comes_behind_the_head_is_no_matter():
    assert alike([b"ab" + bytes([index] * 2) for index in range(9)], head_size=2) == 9


@pytest.mark.parametrize("at", [0, 1, 2, 3])
@pytest.mark.parametrize("other", [1, 5, 8])
def test_they_end_at_the_first_other_byte(at, other):
    records = [b"abcd"] * 9
    records[other] = b"abcd"[:at] + b"x" + b"abcd"[at + 1 :]
    assert alike(records, head_size=4) == other


def test_the_first_difference_counts_whichever_byte_it_is_in():
    records = [b"abcd"] * 4 + [b"abcx"] + [b"abcd"] * 3 + [b"xbcd"]
    assert alike(records, head_size=4) == 4


def test_varints_of_one_length_are_alike():
    records = [b"a\x81\x01b", b"a\xff\x7fb", b"a\x80\x01b"]
    assert alike(records, head_size=4, varints=[(1, 3)]) == 3


@pytest.mark.parametrize("other", [b"\x01\x01", b"\x81\x81", b"\x81\x00", b"\x01\x81"])
def test_what_is_no_varint_in_shortest_form_is_not(other):
    records = [b"a\x81\x01b", b"a\x82\x01b", b"a" + other + b"b"]
    assert alike(records, head_size=4, varints=[(1, 3)]) == 2


def test_zero_is_a_varint_of_one_byte():
    assert alike([b"\x00", b"\x01", b"\x7f", b"\x00", b"\x80"], head_size=1, varints=[(0, 1)]) == 4


def test_it_looks_no_further_than_it_is_told():
    assert alike([b"abcd"] * 9, head_size=4, count_max=5) == 5


def test_a_record_that_is_incomplete_is_none():
    assert count_alike(b"abababa", 0, 2, head_size=2, varints=(), count_max=100) == 3
