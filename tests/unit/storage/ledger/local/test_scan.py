import pytest
from unit.storage.ledger.local.support import block, stamp

from magnetar.errors import StorageError
from magnetar.model.log_damage import Cut
from magnetar.storage.ledger.local.disk import RealFiles
from magnetar.storage.ledger.local.format import (
    Kind,
    Stamp,
    encode_mark,
    location,
)
from magnetar.storage.ledger.local.scan import read_footer, read_header, scan
from magnetar.storage.ledger.local.segment_format import (
    PAGE,
    Contents,
    encode_footer,
    encode_header,
)

GENERATION = 3
STAMP = stamp(GENERATION)


class Log:
    """A segment file written record by record, each synced before the next."""

    def __init__(self, path):
        self.path = path
        self.data = bytearray(encode_header(STAMP, 1, [], {}, recycled=False))
        self.offsets = []
        self.synced = None  # None: whatever lies before.

    def add(self, record):
        self.offsets.append(len(self.data))
        self.data += record

    def _synced(self):
        return len(self.data) if self.synced is None else self.synced

    def block(self, ledger_id, first, *entries):
        self.add(block(STAMP, self._synced(), ledger_id, first, *entries))

    def mark(self, kind, ledger_id, first=0):
        self.add(encode_mark(kind, STAMP, self._synced(), ledger_id, first))

    def read(self, limit=None, *, newest=True, verify_bodies=True, synced=0):
        self.path.write_bytes(self.data)
        file = RealFiles().open(self.path)
        try:
            limit = len(self.data) if limit is None else limit
            return scan(
                file,
                STAMP,
                PAGE,
                limit,
                newest=newest,
                verify_bodies=verify_bodies,
                synced=synced,
            )
        finally:
            file.close()


@pytest.fixture
def log(tmp_path):
    log = Log(tmp_path / "segment")
    log.mark(Kind.CREATED, 1)
    log.block(1, 0, "a", "b")
    log.block(2, 5, b"x" * 5000)
    log.block(1, 2, "c")
    return log


def firsts(result, ledger_id=1):
    return list(result.groups[ledger_id].firsts)


def test_an_empty_segment_holds_nothing(tmp_path):
    result = Log(tmp_path / "segment").read()
    assert (result.groups, result.deletions, result.end) == ({}, [], PAGE)
    assert result.cut == Cut()


def test_records_are_gathered_by_ledger(log):
    log.mark(Kind.DELETED, 9)
    log.mark(Kind.ENDED, 1, 3)
    result = log.read()
    one, two = result.groups[1], result.groups[2]
    assert (one.created, one.ended_at, one.next_entry_id, one.body_size) == (True, 3, 3, 3)
    assert firsts(result) == [0, 2]
    assert list(one.locations) == [location(GENERATION, log.offsets[n]) for n in (1, 3)]
    assert one.records_size == (64 + 16 + 2) + (64 + 8 + 1)
    assert (two.created, two.ended_at, two.next_entry_id, two.body_size) == (False, None, 6, 5000)
    assert result.deletions == [9]
    assert result.end == len(log.data)
    assert (result.damaged, result.cut) == ([], Cut())
    assert result.contents == Contents(result.groups, [9], len(log.data))


def test_a_moved_block_takes_its_place_among_older_ones(log):
    log.block(1, 10, "k")
    log.block(1, 7, "moved")
    assert firsts(log.read()) == [0, 2, 7, 10]


def test_zeros_behind_the_records_are_the_end(log):
    end = len(log.data)
    log.data += bytes(3_000_000)
    result = log.read()
    assert (result.end, result.cut) == (end, Cut())


def test_records_of_an_earlier_life_behind_the_end_are_not_there(log):
    end = len(log.data)
    log.data += encode_mark(Kind.CREATED, Stamp(GENERATION - 1, b"of older"), 0, 77) * 100
    result = log.read()
    assert (result.end, result.cut, set(result.groups)) == (end, Cut(), {1, 2})


@pytest.mark.parametrize("whole", [True, False])
def test_a_torn_record_is_cut_off_with_what_lies_behind(log, whole):
    log.synced = len(log.data)  # The last sync: all that follows is one commit.
    log.block(1, 3, "torn")
    log.block(1, 4, "never answered")
    log.data[log.offsets[4] + (70 if whole else 5)] ^= 1
    result = log.read()
    assert (result.end, result.damaged) == (log.offsets[4], [])
    assert result.cut == Cut(records=2 if whole else 1, entries=1)
    assert firsts(result) == [0, 2]


def test_a_record_that_was_vouched_for_is_damaged_and_the_others_stay(log):
    log.block(1, 3, "later")
    log.data[log.offsets[1] + 70] ^= 1  # Its tables.
    result = log.read()
    assert firsts(result) == [2, 3]
    assert (result.damaged, result.end, result.cut) == ([log.offsets[1]], len(log.data), Cut())


def test_a_damaged_body_keeps_its_place(log):
    log.data[log.offsets[2] + 1000] ^= 1
    result = log.read()
    assert firsts(result, 2) == [5]
    assert result.damaged == [log.offsets[2]]
    assert result.end == len(log.data)


def test_bodies_are_looked_at_only_on_request(log):
    log.data[log.offsets[2] + 1000] ^= 1
    assert log.read(verify_bodies=False).damaged == []


def test_damage_and_a_torn_tail_are_told_apart(log):
    log.data[log.offsets[1]] ^= 1
    log.synced = len(log.data)
    log.block(1, 3, "torn")
    log.data[-1] ^= 1
    result = log.read()
    assert result.damaged == [log.offsets[1]]
    assert (result.end, result.cut) == (log.offsets[4], Cut(records=1, entries=1))


def unvouched(log):
    """Two records, and behind them two of one commit that no record vouches for."""
    log.synced = len(log.data)
    log.block(1, 3, "answered")
    log.block(1, 4, "the last")
    return log.offsets[4:]


@pytest.mark.parametrize("at", [5, 70, 73], ids=["salt", "tables", "body"])
def test_a_mark_tells_damage_in_the_last_commit_from_a_torn_one(log, at):
    damaged, behind = unvouched(log)
    log.data[damaged + at] ^= 1
    torn = log.read(synced=damaged)
    assert (torn.end, torn.damaged) == (damaged, [])
    marked = log.read(synced=len(log.data))
    assert (marked.end, marked.damaged, marked.cut) == (len(log.data), [damaged], Cut())
    assert firsts(marked)[-1] == 4
    assert marked.synced == len(log.data)
    assert behind < marked.end


@pytest.mark.parametrize("at", [5, 70], ids=["salt", "tables"])
def test_the_last_record_keeps_its_place_when_a_mark_is_behind_it(log, at):
    _, last = unvouched(log)
    end = len(log.data)
    log.data[last + at] ^= 1
    log.block(1, 5, "torn")
    log.data[end + 70] ^= 1
    log.data += bytes(1000)
    result = log.read(synced=end)
    assert (result.end, result.damaged) == (end, [last])
    assert result.cut == Cut(records=1, entries=0)


def test_a_mark_behind_the_end_of_the_file_is_damage(log):
    end = len(log.data)
    result = log.read(synced=end + 500)
    assert (result.end, result.damaged) == (end, [end])


def test_in_an_older_segment_everything_bad_is_damage(log):
    log.data[-1] ^= 1
    result = log.read(newest=False)
    assert (result.damaged, result.end, result.cut) == ([log.offsets[3]], len(log.data), Cut())
    assert firsts(result) == [0, 2]


def test_what_lies_behind_the_limit_was_never_answered(log):
    result = log.read(log.offsets[3], newest=False)
    assert firsts(result) == [0]
    assert result.end == log.offsets[3]


def test_a_limit_beyond_the_file_is_not_waited_for(log):
    assert log.read(10**12, newest=False).end == len(log.data)


def test_records_larger_than_the_window_are_read(tmp_path):
    log = Log(tmp_path / "segment")
    for number in range(3):
        log.block(1, number, bytes([number]) * 3_000_000)
    assert firsts(log.read()) == [0, 1, 2]


def read(path, function, *args):
    file = RealFiles().open(path)
    try:
        return function(file, *args)
    finally:
        file.close()


def test_a_header_is_read(tmp_path):
    path = tmp_path / "segment"
    path.write_bytes(encode_header(STAMP, 1, list(range(1000)), {}, recycled=False))
    assert read(path, read_header, path).deleted == list(range(1000))


def test_a_damaged_header_names_the_file_and_the_remedy(tmp_path):
    path = tmp_path / "segment"
    path.write_bytes(b"junk" * 2000)
    with pytest.raises(StorageError, match=rf"{path} cannot be used.*[Rr]estore the file"):
        read(path, read_header, path)


def test_a_footer_is_read_only_at_the_end_of_the_file(log):
    contents = log.read().contents
    footer = encode_footer(STAMP, contents)
    log.path.write_bytes(log.data + footer)
    assert read(log.path, read_footer, STAMP).end == len(log.data)
    assert read(log.path, read_footer, Stamp(GENERATION + 1, b"of newer")) is None
    log.path.write_bytes(log.data + footer + b"x")
    assert read(log.path, read_footer, STAMP) is None
    log.path.write_bytes(log.data)
    assert read(log.path, read_footer, STAMP) is None
    log.path.write_bytes(log.data + b"x" + footer)
    assert read(log.path, read_footer, STAMP) is None
