"""The rest is in tests/unit/message/test_replicas.py, for both builds."""

import pytest
from unit.inner.builds import both_builds

from magnetar.message import metadata
from magnetar.message.entry import checksum, join


@both_builds
def test_copies_have_their_places_and_checksums(loops):
    data = [join(metadata.build("p", number, 5), b"payload") for number in range(3)]
    end, indexes, copies, checksums = loops.replicas(data, 1, 7, 40, b"west", b"east", b"")
    assert (end, indexes) == (3, [1, 2])
    places = [metadata.parse(copy).properties for copy in copies]
    assert [list(each.values()) for each in places] == [["7:41"], ["7:42"]]
    assert checksums == list(map(checksum, copies))
    with pytest.raises(ValueError, match="index"):
        loops.replicas(data, 4, 7, 40, b"west", b"east", b"")
