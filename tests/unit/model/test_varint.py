"""model/varint.py: protobuf's integers, one by one and many at once."""

import re

import pytest

from magnetar.model.varint import VARINT, varint, varint_value

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


@pytest.mark.parametrize("number", NUMBERS)
def test_the_expression_finds_one_of_any_form(number):
    data = varint(number)
    assert re.fullmatch(VARINT, data)
    assert re.match(VARINT, data + b"\x05")[0] == data
    for longer in range(len(data), 10):
        padded = data[:-1] + bytes([data[-1] | 0x80]) + b"\x80" * (longer - len(data)) + b"\x00"
        assert re.fullmatch(VARINT, padded)
        assert varint_value(padded) == number


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 9 + b"\x02", b"\x80" * 10 + b"\x00"])
def test_the_expression_finds_none_of_more_than_64_bits(data):
    assert not re.match(VARINT, data)
