import pytest

from magnetar.errors import FrameTooLarge, MalformedFrame
from magnetar.proxy.frame_reader import FRAME_SIZE_MAX, FrameReader
from magnetar.wire import requests


def test_frames_come_whole_however_their_bytes_arrive():
    frames = [requests.ping(), requests.lookup(7, "t"), requests.pong()]
    reader, found = FrameReader(), []
    for byte in b"".join(frames):
        reader.feed(bytes([byte]))
        while (one := reader.next()) is not None:
            found.append(one)
    assert [whole for _, whole in found] == frames
    assert found[1][0].command.lookupTopic.request_id == 7
    assert reader.rest == b""


def test_what_is_behind_a_frame_is_kept():
    reader = FrameReader()
    reader.feed(requests.ping() + b"\x00")
    reader.next()
    assert reader.rest == b"\x00"
    assert reader.next() is None


@pytest.mark.parametrize(
    ("begin", "error"),
    [(FRAME_SIZE_MAX.to_bytes(4, "big"), FrameTooLarge), (bytes(4), MalformedFrame)],
)
def test_sizes_that_no_frame_has_here_are_refused(begin, error):
    reader = FrameReader()
    reader.feed(begin)
    with pytest.raises(error):
        reader.next()
