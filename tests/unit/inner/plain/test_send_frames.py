"""A run of sends is what single sends are."""

import pytest
from unit.inner.builds import both_builds

from magnetar.wire import requests


@both_builds
@pytest.mark.parametrize("size", [1, 100, 9000])
def test_each_is_a_send_of_its_own(loops, size):
    data, checksums, counts = [bytes(size), b"x" * size, b"y"], [1, 2**32 - 1, 3], [1, 300, 2]
    pieces = loops.send_frames(7, 126, data, checksums, counts)
    alone = []
    for index, entry in enumerate(data):
        alone += requests.send(7, 126 + index, entry, checksums[index], num_messages=counts[index])
    assert b"".join(pieces) == b"".join(alone)
    assert (len(pieces) == 1) == (size < 9000)


@both_builds
def test_lists_are_of_one_length(loops):
    with pytest.raises(ValueError, match="lengths"):
        loops.send_frames(7, 0, [b"a"], [1], [])
