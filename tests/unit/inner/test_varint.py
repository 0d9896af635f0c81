"""inner/varint.py: protobuf's integers, one by one and many at once."""

import pytest

from magnetar.inner.varint import BLOCK, similar, stretches, varint, varint_value

NUMBERS = [0, 1, 127, 128, 300, 16_383, 16_384, 2_097_151, 2_097_152, 2**63, 2**64 - 1]


@pytest.mark.parametrize("number", NUMBERS)
def test_there_and_back(number):
    assert varint_value(varint(number)) == number


@pytest.mark.parametrize(
    ("number", "data"),
    [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02"), (-1, b"\xff" * 9 + b"\1")],
)
def test_bytes_are_protobufs(number, data):
    assert varint(number) == data


def test_no_bytes_are_zero():
    assert varint_value(b"") == 0


@pytest.mark.parametrize("first", [0, 100, 127, 128, 16_000, 16_384, 40_000, 2_097_000, 2**62])
@pytest.mark.parametrize("count", [1, 2, 500, 40_000])
def test_stretches_are_the_numbers_in_their_order(first, count):
    found, behind = [], 0
    for stretch in stretches(first, count):
        assert stretch.start == behind
        behind = stretch.stop
        each = stretch.varints()
        assert len(each) == stretch.stop - stretch.start
        assert {len(one) for one in each} == {stretch.width}
        found += each
    assert behind == count
    assert found == [varint(first + index) for index in range(count)]


def test_no_numbers_have_no_stretches():
    assert list(stretches(5, 0)) == []


@pytest.mark.parametrize("first", [0, 1, 126, 127, 128, 200, 16_383, 16_384, 2**21 - 1, 2**35])
@pytest.mark.parametrize("count", [1, 2, 20])
def test_similar_varints_are_those_of_the_numbers_or_none(first, count):
    begins, rest = similar(first, count)
    whole = [varint(number) for number in range(first, first + count)]
    grow = len(set(map(len, whole))) > 1
    if begins:
        assert [begin + rest for begin in begins] == whole
    assert bool(begins) is (not grow and first // BLOCK == (first + count - 1) // BLOCK)
