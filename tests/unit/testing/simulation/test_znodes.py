import pytest
from kazoo.exceptions import (
    BadVersionError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
)

from magnetar.testing.simulation.znodes import Operation, Znodes


def write(znodes, *operations, session=1):
    return znodes.write([Operation(*each) for each in operations], session, 0)


def test_writes_are_all_done_or_none():
    znodes = Znodes()
    write(znodes, ("create", "/a", b"1"))
    results = write(znodes, ("set", "/a", b"2"), ("create", "/a"))
    assert [type(each) for each in results] == [RolledBackError, NodeExistsError]
    assert znodes.read("/a", znodes.zxid).value == b"1"
    assert [change.path for change in znodes.changes] == ["/a"]


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (("create", "/x/y"), NoNodeError),
        (("set", "/x"), NoNodeError),
        (("set", "/a", b"", 7), BadVersionError),
        (("delete", "/"), NotEmptyError),
    ],
)
def test_what_cannot_be_written_is_refused_as_zookeeper_does(operation, error):
    znodes = Znodes()
    write(znodes, ("create", "/a"))
    with pytest.raises(error):
        write(znodes, operation)


def test_a_server_that_lags_behind_reads_what_was_there():
    znodes = Znodes()
    seen = []
    for value in (b"1", b"2", b"3"):
        write(znodes, ("set" if seen else "create", "/a", value))
        seen.append(znodes.zxid)
    write(znodes, ("delete", "/a"))
    assert [znodes.read("/a", zxid).value for zxid in seen] == [b"1", b"2", b"3"]
    assert znodes.read("/", seen[0]).children == ("a",)
    with pytest.raises(NoNodeError):
        znodes.read("/a", znodes.zxid)
    with pytest.raises(NoNodeError):
        znodes.read("/a", seen[0] - 1)


def test_a_sequence_counts_what_came_and_went_below_its_parent():
    znodes = Znodes()
    write(znodes, ("create", "/a"))
    first = write(znodes, ("create", "/a/n-", b"", -1, True, True))
    write(znodes, ("delete", first[0]))
    assert first == ["/a/n-0000000000"]
    assert write(znodes, ("create", "/a/n-", b"", -1, True, True)) == ["/a/n-0000000002"]
    assert znodes.owned(1) == ["/a/n-0000000002"]
