from array import array

import pytest
from unit.storage.ledger.local.support import block, run, stamp

from magnetar.errors import CorruptEntry
from magnetar.storage.ledger.local.disk import RealFiles
from magnetar.storage.ledger.local.format import (
    Kind,
    encode_mark,
    located,
    location,
)
from magnetar.storage.ledger.local.reading import Plan, Source, read_entries, read_records

ALL = 10**9


class CountingFiles(RealFiles):
    """Real files, and how often they were read."""

    reads = 0

    def open(self, path, *, create=False, direct=False):
        file = super().open(path, create=create, direct=direct)
        read = file.read

        def counted(offset, size):
            self.reads += 1
            return read(offset, size)

        file.read = counted
        return file


class Log:
    """Segment files without headers, and the index of ledger 1."""

    def __init__(self, folder):
        self.files = CountingFiles()
        self.folder = folder
        self.data = {}
        self.next = 0
        self.firsts = array("Q")
        self.locations = array("Q")

    def block(self, generation, *entries, ledger_id=1, first=None):
        first = self.next if first is None else first
        buffer = self.data.setdefault(generation, bytearray())
        if ledger_id == 1:
            self.firsts.append(first)
            self.locations.append(location(generation, len(buffer)))
            self.next = first + len(entries)
        buffer += block(stamp(generation), 0, ledger_id, first, *entries)

    def plan(self):
        sources = {}
        for generation, data in self.data.items():
            path = self.folder / str(generation)
            path.write_bytes(data)
            sources[generation] = Source(path, stamp(generation))
        return Plan(1, self.firsts, self.locations, sources)

    def read(self, first=0, count_max=ALL, bytes_max=ALL):
        """Entries from ``first`` on, with a plan that begins with their block."""
        plan = self.plan()
        start = sum(each <= first for each in plan.firsts) - 1
        plan = plan._replace(firsts=plan.firsts[start:], locations=plan.locations[start:])
        entries = read_entries(self.files, plan, first, count_max, bytes_max)
        assert entries.checksums == run(*entries.data)[1]
        return entries.data


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path)


def test_blocks_of_several_segments_are_read_in_one_go(log):
    log.block(1, "a", "b")
    log.block(1, b"x" * 100_000, b"y" * 200_000)
    log.block(5, "c")
    assert log.read() == [b"a", b"b", b"x" * 100_000, b"y" * 200_000, b"c"]
    assert log.read(first=3) == [b"y" * 200_000, b"c"]


def test_a_read_stops_where_it_was_told(log):
    log.block(1, *range(10))
    log.block(1, *range(10, 20))
    assert log.read(3, count_max=4) == [b"3", b"4", b"5", b"6"]
    assert log.read(8, count_max=4) == [b"8", b"9", b"10", b"11"]
    assert log.read(8, bytes_max=5) == [b"8", b"9", b"10", b"11"]
    assert log.read(8, bytes_max=1) == [b"8"]


def test_neighbouring_blocks_are_read_together(log):
    for number in range(500):
        log.block(1, f"{number:04}")
    assert len(log.read(bytes_max=100_000)) == 500
    assert log.files.reads <= 3


def test_blocks_far_apart_are_read_alone(log):
    for number in range(10):
        log.block(1, number)
        log.block(1, b"z" * 3_000_000, ledger_id=2, first=number)
    assert len(log.read(bytes_max=100_000)) == 10


def test_moved_blocks_are_read_where_they_lie_now(log):
    log.block(1, "a")
    log.block(9, "b")
    log.block(1, "c")
    log.block(9, "d")
    assert log.read() == [b"a", b"b", b"c", b"d"]


def flip(log, block, at):
    generation, offset = located(log.locations[block])
    log.data[generation][offset + at] ^= 1


def test_a_damaged_entry_cannot_be_read_and_its_neighbours_can(log):
    log.block(1, "aa", "bb", "cc")
    log.block(1, "dd")
    flip(log, 0, 64 + 3 * 8 + 2)  # In "bb".
    assert log.read() == [b"aa"]
    with pytest.raises(CorruptEntry, match=r"entry 1 of ledger 1 is damaged on disk in .*/1"):
        log.read(1)
    assert log.read(2) == [b"cc", b"dd"]


@pytest.mark.parametrize("at", [0, 9, 12, 30, 53, 64, 79])
def test_a_damaged_header_loses_its_block_alone(log, at):
    log.block(1, "aa")
    log.block(1, "bb", "cc")
    log.block(1, "dd")
    flip(log, 1, at)
    assert log.read() == [b"aa"]
    for lost in (1, 2):
        with pytest.raises(CorruptEntry):
            log.read(lost)
    assert log.read(3) == [b"dd"]


def test_a_damaged_large_entry_is_noticed(log):
    log.block(1, b"x" * 50_000, b"y" * 50_000)
    flip(log, 0, 64 + 16 + 60_000)
    assert log.read() == [b"x" * 50_000]
    with pytest.raises(CorruptEntry):
        log.read(1)


def test_a_missing_block_is_noticed(log):
    log.block(1, "a")
    log.block(1, "c", first=2)
    assert log.read() == [b"a"]
    with pytest.raises(CorruptEntry, match="entry 1 "):
        log.read(1)
    assert log.read(2) == [b"c"]


def test_a_file_that_was_cut_is_noticed(log):
    log.block(1, "a")
    log.block(1, "b" * 1000)
    for cut in (1, 990, 1010, 1060):
        log.data[1] = log.data[1][:-cut] + b""
        with pytest.raises(CorruptEntry):
            log.read(1)
        assert log.read() == [b"a"]
        del log.data[1][-1:]
        log.data[1] = log.data[1][: located(log.locations[1])[1]]
        log.firsts, log.locations, log.next = log.firsts[:1], log.locations[:1], 1
        log.block(1, "b" * 1000)


def test_a_block_of_another_ledger_is_not_taken_for_ours(log):
    log.block(1, "theirs", ledger_id=2, first=0)
    log.firsts.append(0)
    log.locations.append(location(1, 0))
    with pytest.raises(CorruptEntry):
        log.read()


def test_whole_records_are_read_for_moving(log):
    log.block(1, "a", "b")
    log.block(1, "theirs", ledger_id=2, first=9)
    log.block(1, b"x" * 100_000)
    plan = log.plan()
    offsets = [located(place)[1] for place in log.locations]
    records = read_records(log.files, plan.sources[1], offsets, ALL)
    assert [place for place, _, _ in records] == list(log.locations)
    assert [head.first for _, head, _ in records] == [0, 2]
    assert [
        record.endswith(end) for (_, _, record), end in zip(records, (b"ab", b"x"), strict=True)
    ]
    assert len(read_records(log.files, plan.sources[1], offsets, 10)) == 1


def test_a_record_with_a_damaged_header_is_not_moved(log):
    log.data[1] = bytearray(encode_mark(Kind.CREATED, stamp(1), 0, 1))
    log.data[1][30] ^= 1
    with pytest.raises(CorruptEntry, match="damaged at offset 0"):
        read_records(log.files, log.plan().sources[1], [0], ALL)


def test_a_record_without_its_end_is_not_moved(log):
    log.block(1, "abc")
    del log.data[1][-1]
    with pytest.raises(CorruptEntry, match="ends before offset"):
        read_records(log.files, log.plan().sources[1], [0], ALL)
