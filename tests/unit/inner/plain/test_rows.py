"""inner/plain/rows.py: rows of Arrow's columns become the messages of batches."""

from array import array
from base64 import b64encode

import pytest
from unit.inner.builds import both_builds

from magnetar.inner.plain.batches import Single
from magnetar.message.batch import pack
from magnetar.model.hashing import java_string_hash

pytestmark = both_builds


def places(*numbers):
    return array("i", numbers).tobytes()


def strings(*rows, first=0):
    """A column of these rows, None where one is not there, behind ``first`` others."""
    rows = (*[b"before"] * first, *rows)
    bits = sum((row is not None) << at for at, row in enumerate(rows))
    ends = [sum(len(row or b"") for row in rows[:at]) for at in range(len(rows) + 1)]
    return first, bits.to_bytes(8, "little"), places(*ends), b"".join(row or b"" for row in rows)


def numbers(*rows):
    return 0, None, array("q", rows).tobytes()


EMPTY = (0, None, places(0), b"")
VALUES = strings(b"one", b"", b"three", first=3)


def test_values_alone_are_packed_as_a_producer_packs_them(loops):
    columns = (VALUES, None, None, None, None)
    messages = pack([b"one", b"", b"three"], first_sequence_id=2**40)
    assert loops.pack_rows(columns, 3, 0, 3, 2**40) == messages
    assert loops.pack_rows(columns, 3, 1, 1, 0) == b""


def test_a_row_says_all_that_a_message_can(loops):
    keys = strings(b"k\xc3\xa9", None, b"\xff\xfe", first=1)
    names, texts = strings(b"a", b"b", b"c"), strings(b"1", None, b"")
    columns = (
        VALUES,
        keys,
        strings(None, b"o", b""),
        numbers(1999, 0, 2**53),
        (0, b"\x05", places(0, 2, 2, 3), names, texts),
    )
    expected = pack(
        [b"one", b"", b"three"],
        first_sequence_id=7,
        details={
            0: Single(key="ké", event_time_ms=1, properties={"a": "1"}),
            1: Single(ordering_key=b"o", event_time_ms=0),
            2: Single(
                key=b64encode(b"\xff\xfe").decode(),
                key_b64=True,
                ordering_key=b"",
                event_time_ms=2**53 // 1000,
                properties={"c": ""},
            ),
        },
    )
    assert loops.pack_rows(columns, 3, 0, 3, 7) == expected


def test_a_null_is_a_message_that_says_so(loops):
    columns = (strings(b"v", None, b""), strings(b"a", b"b", None), None, None, None)
    expected = pack(
        [b"v", b"", b""],
        first_sequence_id=7,
        details={0: Single(key="a"), 1: Single(key="b", null_value=True)},
    )
    assert loops.pack_rows(columns, 3, 0, 3, 7) == expected
    assert loops.cut_rows(columns, 3, 10, 100) == [(3, 3)]


def test_rows_are_picked_in_any_order(loops):
    columns = (VALUES, None, None, None, None)
    assert loops.pack_rows(columns, places(2, 0), 0, 2, 5) == pack(
        [b"three", b"one"], first_sequence_id=5
    )
    assert loops.cut_rows(columns, places(2, 0), 10, 100) == [(2, 8)]


@pytest.mark.parametrize(
    ("messages_max", "size_max", "batches"),
    [
        (10, 100, [(4, 13)]),
        (2, 100, [(2, 3), (4, 10)]),
        (10, 8, [(3, 8), (4, 5)]),  # The third makes it full.
        (10, 7, [(2, 3), (3, 5), (4, 5)]),
        (10, 2, [(1, 3), (2, 0), (3, 5), (4, 5)]),  # What is too large is alone.
    ],
)
def test_a_batch_ends_where_it_is_full(loops, messages_max, size_max, batches):
    columns = (strings(b"one", b"", b"three", b"seven"), None, None, None, None)
    assert loops.cut_rows(columns, 4, messages_max, size_max) == batches
    assert loops.cut_rows(columns, 0, messages_max, size_max) == []


def test_a_message_counts_what_it_says_too(loops):
    pairs = (0, None, places(0, 2), strings(b"ab", b"c"), strings(b"d", None))
    columns = (strings(b"v"), strings(b"key"), strings(b"or"), numbers(5), pairs)
    assert loops.cut_rows(columns, 1, 10, 100) == [(1, 1 + 3 + 2 + 3)]


def test_what_no_message_can_say_is_refused(loops):
    values = strings(b"v")
    with pytest.raises(ValueError, match="an event time before 1970"):
        loops.cut_rows((values, None, None, numbers(-1), None), 1, 10, 10)
    pairs = (0, None, places(0, 1), strings(b"a"), strings(b"\xff"))
    with pytest.raises(ValueError, match="a property that is no text"):
        loops.cut_rows((values, None, None, None, pairs), 1, 10, 10)


@pytest.mark.parametrize(
    "key", ["a", "é", "\U0001f600", "\ud7ff\ue000", "x" * 300, "\x00", "\x7f\x80"]
)
def test_a_key_goes_where_its_hash_says_and_is_text(loops, key):
    data = key.encode()
    found = loops.share_rows(strings(data), 1, 1000, 0, 1)
    assert found[java_string_hash(key) % 1000] == places(0)
    columns = (strings(b"v"), strings(data), None, None, None)
    details = {0: Single(key=key)}
    assert loops.pack_rows(columns, 1, 0, 1, 0) == pack(
        [b"v"], first_sequence_id=0, details=details
    )


@pytest.mark.parametrize(
    "key",
    [
        b"\x80",
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xe0\x9f\xbf",
        b"\xed\xa0\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"a\xe2\x82",
        b"\xc3\xc3",
        b"\xff",
    ],
)
def test_a_key_that_is_no_text_goes_as_base64_and_where_that_says(loops, key):
    text = b64encode(key).decode()
    found = loops.share_rows(strings(key), 1, 1000, 0, 1)
    assert found[java_string_hash(text) % 1000] == places(0)
    columns = (strings(b"v"), strings(key), None, None, None)
    details = {0: Single(key=text, key_b64=True)}
    assert loops.pack_rows(columns, 1, 0, 1, 0) == pack(
        [b"v"], first_sequence_id=0, details=details
    )


def test_rows_without_keys_go_to_one_partition_after_the_other(loops):
    assert loops.share_rows(None, 5, 3, 1, 2) == [places(0), places(1, 2), places(3, 4)]
    keys = strings(None, b"", b"a")
    assert loops.share_rows(keys, places(2, 1, 0), 2, 0, 1) == [places(0), places(2, 1)]


@pytest.mark.parametrize(
    "columns",
    [
        (None, None),
        ((0, None, places(0, 1)), None, None, None, None),
        ((0, None, places(0, 1), b""), None, None, None, None),
        ((0, None, places(2, 1), b"abc"), None, None, None, None),
        ((0, None, places(-1, 1), b"abc"), None, None, None, None),
        ((0, None, places(0), b""), None, None, None, None),
        ((8, b"\xff", places(0, 1), b"a"), None, None, None, None),
        ((-1, None, places(0, 1), b"a"), None, None, None, None),
        (strings(b"v"), None, None, (0, None, b"1234567"), None),
        (strings(b"v"), None, None, None, (0, None, places(0, 9), EMPTY, EMPTY)),
    ],
)
def test_columns_that_end_too_soon_are_refused(loops, columns):
    with pytest.raises(ValueError, match=r"shape|below 0|unpack"):
        loops.cut_rows(columns, 1, 10, 10)
    with pytest.raises(ValueError, match=r"shape|below 0|unpack"):
        loops.pack_rows(columns, 1, 0, 1, 0)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cut_rows", (places(-1), 10, 10)),
        ("cut_rows", (places(1), 10, 10)),
        ("cut_rows", (2, 10, 10)),
        ("cut_rows", (-1, 10, 10)),
        ("cut_rows", (1, 0, 10)),
        ("cut_rows", (1, 10, 0)),
        ("pack_rows", (1, 0, 2, 0)),
        ("pack_rows", (1, 1, 0, 0)),
        ("pack_rows", (1, -1, 1, 0)),
        ("share_rows", (1, 0, 0, 1)),
        ("share_rows", (1, 1, 0, 0)),
        ("share_rows", (1, 1, -1, 1)),
    ],
)
def test_what_makes_no_sense_is_refused(loops, name, arguments):
    column = (0, None, places(0, 1), b"v")
    given = column if name == "share_rows" else (column, None, None, None, None)
    with pytest.raises(ValueError, match=r"shape|below 0|room|behind|partition"):
        getattr(loops, name)(given, *arguments)
