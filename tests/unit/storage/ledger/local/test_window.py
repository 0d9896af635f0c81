import pytest
from unit.storage.ledger.local.support import block, stamp

from magnetar.storage.ledger.local.disk import RealFiles
from magnetar.storage.ledger.local.window import Window

STAMP = stamp(3)
START = 100


def entry(synced=START):
    return block(STAMP, synced, 1, 7, "hello")


@pytest.fixture
def open_window(tmp_path):
    """Makes a window over these bytes, and closes their file."""
    files = []

    def make(data, **options):
        path = tmp_path / f"segment-{len(files)}"
        path.write_bytes(data)
        files.append(RealFiles().open(path))
        return Window(files[-1], STAMP, read_min=10, **options)

    yield make
    for file in files:
        file.close()


def test_what_was_read_is_not_read_again(open_window):
    window = open_window(bytes(range(100)))
    assert window.find(20, 4) == -1
    assert window.have(20, 4) == 0
    assert window.bytes == bytes(range(20, 30))
    assert window.find(23, 4) == window.have(23, 4) == 3
    assert window.find(27, 4) == -1
    assert window.have(19, 4) == 0


def test_nothing_behind_the_end_is_read(open_window):
    window = open_window(bytes(range(100)), end=25)
    assert window.have(20, 50) == 0
    assert window.bytes == bytes(range(20, 25))
    assert open_window(b"abc").have(1, 50) == 0


def test_a_records_head_is_found_where_it_lies(open_window):
    record = entry()
    window = open_window(bytes(START) + record)
    head = window.head(START)
    assert (head.ledger_id, head.first, head.entries) == (1, 7, 1)
    assert window.head(START + 1) is None
    assert window.head(START + len(record)) is None


@pytest.mark.parametrize("at", range(0, 72, 5))
def test_a_damaged_head_is_none(open_window, at):
    record = bytearray(entry())
    record[at] ^= 1
    assert open_window(bytes(START) + record).head(START) is None


def test_a_record_that_goes_beyond_the_end_or_vouches_for_itself_is_none(open_window):
    record = entry()
    assert open_window(bytes(START) + record, end=START + len(record) - 1).head(START) is None
    assert open_window(bytes(START) + entry(synced=START + 1)).head(START) is None
