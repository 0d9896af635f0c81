"""inner/plain/columns.py: what a batch's messages say of themselves, as Arrow's buffers."""

from array import array

import pytest
from unit.inner.builds import both_builds

from magnetar.inner.plain.batches import Single
from magnetar.inner.plain.columns import (
    EVENT_TIME,
    KEY,
    ORDERING_KEY,
    PROPERTIES,
    SEQUENCE_ID,
    VALUE,
)
from magnetar.message.batch import pack

pytestmark = both_builds

MESSAGES = [b"one", b"", b"three"]
PAYLOAD = pack(
    MESSAGES,
    first_sequence_id=7,
    details={
        0: Single(key="k", event_time_ms=5, properties={"a": "b", "c": ""}),
        2: Single(key="aw==", key_b64=True, ordering_key=b"o", sequence_id=2**63),
    },
)


def places(*numbers):
    return array("i", numbers).tobytes()


def numbers(*values):
    return array("Q", values).tobytes()


COLUMNS = {
    VALUE: [places(0, 3, 3, 8), b"onethree"],
    KEY: [b"\x05", b"\x04", places(0, 1, 1, 5), b"kaw=="],
    ORDERING_KEY: [b"\x04", places(0, 0, 0, 1), b"o"],
    EVENT_TIME: [b"\x01", numbers(5, 0, 0)],
    SEQUENCE_ID: [b"\x07", numbers(7, 8, 2**63)],
    PROPERTIES: [places(0, 2, 2, 2), places(0, 1, 2), b"ac", places(0, 1, 1), b"b"],
}


@pytest.mark.parametrize("wanted", COLUMNS)
def test_each_column_can_be_had_by_itself(loops, wanted):
    assert loops.columns([PAYLOAD], [3], [0], [3], wanted) == (3, COLUMNS[wanted])


def test_all_columns_come_in_one_order(loops):
    buffers = [buffer for column in COLUMNS.values() for buffer in column]
    assert loops.columns([PAYLOAD], [3], [0], [3], sum(COLUMNS)) == (3, buffers)


def test_parts_of_several_batches_make_one_column(loops):
    rows, found = loops.columns([PAYLOAD] * 4, [3] * 4, [1, 0, 3, 2], [3, 1, 9, 2], VALUE | KEY)
    assert rows == 3
    assert found[:2] == [places(0, 0, 5, 8), b"threeone"]
    assert found[2:4] == [b"\x06", b"\x02"]


def test_more_than_eight_rows_have_more_than_one_byte_of_bits(loops):
    rows, (has, base64, *_) = loops.columns([PAYLOAD] * 3, [3] * 3, [0] * 3, [3] * 3, KEY)
    assert (rows, has, base64) == (9, b"\x6d\x01", b"\x24\x01")


def test_nothing_makes_no_rows(loops):
    assert loops.columns([], [], [], [], VALUE) == (0, [places(0), b""])


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"\0\0\0\x02\x18\x05body",
        b"\0\0\0\x04\x18\x01\x58\x00b",  # A field nobody knows.
        b"\0\0\0\x06\x18\x01\x0a\x02\x0a\x00b",  # Half a property.
    ],
)
def test_what_has_an_unusual_form_is_left_to_others(loops, bad):
    assert loops.columns([PAYLOAD + bad], [4], [0], [1], VALUE) is None


@pytest.mark.parametrize(
    "arguments",
    [([PAYLOAD], [], [0], [1]), ([PAYLOAD], [3], [-1], [3]), ([PAYLOAD], [3], [0], [-1])],
)
def test_what_makes_no_sense_is_refused(loops, arguments):
    with pytest.raises(ValueError, match=r"lengths|below 0"):
        loops.columns(*arguments, VALUE)
