"""inner/plain/columns.py: what a batch's messages say of themselves, as Arrow's buffers."""

from array import array
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
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
    assert loops.columns([PAYLOAD], [0], [3], [0], [3], wanted) == (3, COLUMNS[wanted])


def test_all_columns_come_in_one_order(loops):
    buffers = [buffer for column in COLUMNS.values() for buffer in column]
    assert loops.columns([PAYLOAD], [0], [3], [0], [3], sum(COLUMNS)) == (3, buffers)


def test_parts_of_several_batches_make_one_column(loops):
    rows, found = loops.columns(
        [PAYLOAD] * 4, [0] * 4, [3] * 4, [1, 0, 3, 2], [3, 1, 9, 2], VALUE | KEY
    )
    assert rows == 3
    assert found[:2] == [places(0, 0, 5, 8), b"threeone"]
    assert found[2:4] == [b"\x06", b"\x02"]


def test_more_than_eight_rows_have_more_than_one_byte_of_bits(loops):
    rows, (has, base64, *_) = loops.columns([PAYLOAD] * 3, [0] * 3, [3] * 3, [0] * 3, [3] * 3, KEY)
    assert (rows, has, base64) == (9, b"\x6d\x01", b"\x24\x01")


def test_messages_may_begin_behind_something_else(loops):
    payloads, starts = [b"before" + PAYLOAD, PAYLOAD, b"x" + PAYLOAD], [6, 0, 1]
    rows, found = loops.columns(payloads, starts, [3] * 3, [0] * 3, [3] * 3, VALUE)
    assert (rows, found[1]) == (9, b"onethree" * 3)
    assert loops.columns([PAYLOAD], [len(PAYLOAD) + 1], [0], [0], [0], VALUE) is None


def test_nothing_makes_no_rows(loops):
    assert loops.columns([], [], [], [], [], VALUE) == (0, [places(0), b""])


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
    assert loops.columns([PAYLOAD + bad], [0], [4], [0], [1], VALUE) is None


@pytest.mark.parametrize(
    "arguments",
    [
        ([PAYLOAD], [0], [], [0], [1]),
        ([PAYLOAD], [], [3], [0], [1]),
        ([PAYLOAD], [-1], [3], [0], [3]),
        ([PAYLOAD], [0], [3], [-1], [3]),
        ([PAYLOAD], [0], [3], [0], [-1]),
    ],
)
def test_what_makes_no_sense_is_refused(loops, arguments):
    with pytest.raises(ValueError, match=r"lengths|below 0"):
        loops.columns(*arguments, VALUE)


heads = st.builds(
    Single,
    key=st.none() | st.text(max_size=200),
    properties=st.dictionaries(st.text(max_size=140), st.text(max_size=140), max_size=3),
    event_time_ms=st.none() | st.integers(0, 2**64 - 1),
    sequence_id=st.none() | st.integers(0, 2**64 - 1),
    key_b64=st.booleans(),
    ordering_key=st.none() | st.binary(max_size=200),
    null_value=st.booleans(),
    compacted_out=st.booleans(),
)


@given(st.lists(st.tuples(st.binary(max_size=300), st.none() | heads), max_size=12), st.data())
def test_whatever_messages_say_of_themselves_is_in_their_columns(loops, messages, data):
    first = data.draw(st.sampled_from([0, 100, 2**14 - 1, 2**21 - 2, 2**40]))
    payload = pack(
        [body for body, _ in messages],
        first_sequence_id=first,
        details={index: said for index, (_, said) in enumerate(messages) if said is not None},
    )
    said = [head or Single() for _, head in messages]
    rows, found = loops.columns([payload], [0], [len(messages)], [0], [len(messages)], sum(COLUMNS))
    assert rows == len(messages)
    keys, times = [one.key for one in said], [one.event_time_ms for one in said]
    ids = [
        first + index if one.sequence_id is None else one.sequence_id
        for index, one in enumerate(said)
    ]
    pairs = [pair for one in said for pair in one.properties.items()]
    assert found == [
        *strings([body for body, _ in messages]),
        bits([key is not None for key in keys]),
        bits([one.key_b64 for one in said]),
        *strings([(key or "").encode() for key in keys]),
        bits([one.ordering_key is not None for one in said]),
        *strings([one.ordering_key or b"" for one in said]),
        bits([time is not None for time in times]),
        numbers(*(time or 0 for time in times)),
        bits([True] * rows),
        numbers(*ids),
        places(*accumulate((len(one.properties) for one in said), initial=0)),
        *strings([name.encode() for name, _ in pairs]),
        *strings([text.encode() for _, text in pairs]),
    ]


def strings(rows):
    return [places(*accumulate(map(len, rows), initial=0)), b"".join(rows)]


def bits(rows):
    return bytes(
        sum(bit << place for place, bit in enumerate(rows[start : start + 8]))
        for start in range(0, len(rows), 8)
    )
