"""Frames of version 3, as a bookie of BookKeeper 4.17 took and sent them."""

import pytest

from magnetar.errors import CorruptEntry
from magnetar.storage.ledger.bookkeeper import v3


def frame(body):
    return len(body).to_bytes(4, "big") + body


def answer(operation, rest=b"", status=b"\x10\x00"):
    return frame(b"\x0a\x06\x08\x03\x10" + bytes([operation]) + b"\x18\x01" + status + rest)


def test_what_is_asked():
    assert v3.start_tls_frame() == frame(bytes.fromhex("0a06080310091801d20600"))
    assert v3.space_frame() == frame(bytes.fromhex("0a06080310081801ca06020803"))


def test_what_is_answered():
    v3.check_started(answer(9))
    space = bytes.fromhex("ca060c080010808080808001188008")
    assert v3.space_of(answer(8, space)) == (2**35, 1024)


def test_a_refusal_says_which():
    for status, name in ((b"\x10\x94\x03", "EBADREQ"), (b"\x10\x87\x07", "status 903")):
        with pytest.raises(v3.Refused, match=name):
            v3.check_started(answer(9, status=status))
    with pytest.raises(v3.Refused, match="EIO"):
        v3.space_of(answer(8, bytes.fromhex("ca060308f503")))


def test_a_frame_ends_where_it_says():
    whole = answer(9)
    assert [v3.frame_end(whole[:size]) for size in (0, 3, 4, len(whole) - 1)] == [None] * 4
    assert v3.frame_end(whole + b"more") == len(whole)


def test_what_no_bookie_would_send_is_told():
    with pytest.raises(CorruptEntry, match="answer of"):
        v3.frame_end((v3.ANSWER_SIZE_MAX + 1).to_bytes(4, "big"))
    with pytest.raises(CorruptEntry, match="none would"):
        v3.check_started(frame(b"\xff\xff"))
