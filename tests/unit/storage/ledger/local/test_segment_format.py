from array import array

import pytest
from unit.storage.ledger.local.support import stamp

from magnetar.storage.ledger.local.format import Stamp, location
from magnetar.storage.ledger.local.segment_format import (
    PAGE,
    TRAILER_SIZE,
    BadFormat,
    Contents,
    Group,
    decode_footer,
    decode_header,
    encode_footer,
    encode_header,
    footer_place,
    header_size,
)


def places(*offsets):
    return array("Q", [location(5, offset) for offset in offsets])


GROUPS = {
    3: Group(3, 10, 100, 300, True, None, array("Q", [0, 4]), places(5000, 6000)),
    9: Group(9, 0, 0, 0, True, 0),
    2**40: Group(2**40, 7, 70, 150, False, 7, array("Q", [6]), places(7999)),
}
CONTENTS = Contents(GROUPS, [1, 2], 8000)
STAMP = stamp(5)
OLDER = Stamp(4, b"of older")


def as_tuple(group):
    return tuple(getattr(group, name) for name in group.__slots__)


@pytest.mark.parametrize("recycled", [True, False])
def test_a_header_is_read_as_it_was_written(recycled):
    header = encode_header(STAMP, 77, [1, 2, 3], {4: 9000, 3: 100}, recycled=recycled)
    assert len(header) == header_size(header[:PAGE]) == PAGE
    decoded = decode_header(header)
    assert decoded[1:] == (77, [1, 2, 3], {4: 9000, 3: 100}, PAGE, recycled)
    assert (decoded.generation, decoded.stamp.salt) == (5, STAMP.salt)


def test_a_long_header_takes_more_pages():
    deleted = list(range(10_000))
    header = encode_header(STAMP, 77, deleted, {}, recycled=False)
    assert len(header) % PAGE == 0
    assert len(header) == header_size(header[:PAGE]) > 80_000
    assert decode_header(header).deleted == deleted


def test_any_flipped_bit_in_a_header_is_noticed():
    header = bytearray(encode_header(STAMP, 77, [1, 2, 3], {4: 9000}, recycled=False))
    for at in range(64 + 3 * 8 + 16):
        header[at] ^= 1 << (at % 8)
        with pytest.raises(BadFormat):
            decode_header(bytes(header))
        header[at] ^= 1 << (at % 8)


def test_an_unknown_version_is_named():
    header = bytearray(encode_header(STAMP, 77, [], {}, recycled=False))
    header[12] = 3
    with pytest.raises(BadFormat, match="version is 3, and this Magnetar reads 2"):
        header_size(bytes(header))


def test_a_version_that_was_never_released_is_refused():
    header = bytearray(encode_header(STAMP, 77, [], {}, recycled=False))
    header[12] = 1
    with pytest.raises(BadFormat, match="version is 1, of a time before the first release"):
        header_size(bytes(header))


@pytest.mark.parametrize("page", [b"", b"MAGNETAR", b"\0" * PAGE, b"something else" * 400])
def test_other_files_are_no_segments(page):
    with pytest.raises(BadFormat, match="does not start like a segment"):
        header_size(page)


def test_a_cut_header_is_damaged():
    header = encode_header(STAMP, 77, list(range(1000)), {}, recycled=False)
    with pytest.raises(BadFormat, match="damaged"):
        decode_header(header[:PAGE])


def test_a_footer_is_read_as_it_was_written():
    footer = encode_footer(STAMP, CONTENTS)
    assert footer_place(footer[-TRAILER_SIZE:], STAMP) == (8000, len(footer))
    contents = decode_footer(footer, STAMP)
    assert (contents.deletions, contents.end) == ([1, 2], 8000)
    assert list(contents.groups) == [3, 9, 2**40]
    for ledger_id, group in contents.groups.items():
        assert as_tuple(group) == as_tuple(GROUPS[ledger_id])


def test_a_footer_of_an_earlier_life_of_the_file_is_none():
    assert footer_place(encode_footer(OLDER, CONTENTS)[-TRAILER_SIZE:], STAMP) is None


@pytest.mark.parametrize("trailer", [b"", b"short", b"\0" * TRAILER_SIZE])
def test_other_bytes_are_no_trailer(trailer):
    assert footer_place(trailer, STAMP) is None


def test_any_flipped_bit_in_a_footer_is_noticed():
    footer = bytearray(encode_footer(STAMP, CONTENTS))
    for at in range(len(footer)):
        footer[at] ^= 1 << (at % 8)
        whole = footer_place(bytes(footer[-TRAILER_SIZE:]), STAMP) == (8000, len(footer))
        assert not whole or decode_footer(bytes(footer), STAMP) is None
        footer[at] ^= 1 << (at % 8)


def test_a_footer_with_another_stamp_is_damaged():
    footer = bytearray(encode_footer(OLDER, CONTENTS))
    footer[8 - TRAILER_SIZE : 16 - TRAILER_SIZE] = STAMP.salt
    assert footer_place(bytes(footer[-TRAILER_SIZE:]), STAMP) == (8000, len(footer))
    assert decode_footer(bytes(footer), STAMP) is None


def test_a_cut_footer_is_damaged():
    assert decode_footer(encode_footer(STAMP, CONTENTS)[10:], STAMP) is None
    assert decode_footer(b"\0" * TRAILER_SIZE, STAMP) is None
