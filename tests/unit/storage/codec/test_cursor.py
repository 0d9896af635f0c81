import json

import pytest

from magnetar.errors import CorruptEntry
from magnetar.model.position import Position
from magnetar.storage.codec.cursor import CursorState, decode_cursor, encode_cursor

STORED = {
    "version": 1,
    "later": [{"x": 1}],
    "markDelete": {"ledgerId": 3, "entryId": -1},
    "ranges": [{"ledgerId": 3, "firsts": [1, 5], "lasts": [2, 5]}],
    "batches": [{"ledgerId": 3, "entryId": 9, "ackSet": [5, -1]}],
    "redeliveries": [{"ledgerId": 3, "entryIds": [4, 9], "counts": [2, 1]}],
    "properties": {"owner": "us"},
}


def test_the_fields_have_names():
    assert decode_cursor(json.dumps(STORED).encode(), source="/here") == CursorState(
        Position(3, -1),
        {3: ([1, 5], [2, 5])},
        [(Position(3, 9), [5, -1])],
        {3: ([4, 9], [2, 1])},
        {"owner": "us"},
        {"later": [{"x": 1}]},
    )


def test_fields_of_later_versions_are_written_back():
    state = decode_cursor(json.dumps(STORED).encode(), source="/here")
    assert json.loads(encode_cursor(state, name="s")) == STORED


def test_a_record_without_redeliveries_says_nothing_of_them():
    without = {name: value for name, value in STORED.items() if name != "redeliveries"}
    state = decode_cursor(json.dumps(without).encode(), source="/here")
    assert state.redeliveries == {}
    assert json.loads(encode_cursor(state, name="s")) == without


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"markDelete": [3, -1]}, "markDelete is .*, not an object"),
        (
            {"ranges": [{"ledgerId": 3, "firsts": [1], "lasts": []}]},
            r"ranges\.lasts is \[\], not as long as firsts: 1",
        ),
        (
            {"redeliveries": [{"ledgerId": 3, "entryIds": [], "counts": [1]}]},
            r"redeliveries\.counts is \[1\], not as long as entryIds: 0",
        ),
        ({"batches": [{"ledgerId": 3, "ackSet": []}]}, r"batches\.entryId is missing"),
        ({"version": 2}, "use the Magnetar that wrote it"),
    ],
)
def test_a_damaged_record_says_where_it_is_and_what(change, said):
    value = json.dumps(STORED | change).encode()
    with pytest.raises(CorruptEntry, match=f"cursor at /here cannot be read .*{said}"):
        decode_cursor(value, source="/here")
