from pathlib import Path

import pytest
from unit.storage.ledger.local.support import run, salt, stamp

from magnetar.errors import WriteFailed
from magnetar.inner.record import HEAD_SIZE
from magnetar.storage.ledger.local.format import Kind, head_at, location
from magnetar.storage.ledger.local.index import Ledger
from magnetar.storage.ledger.local.jobs import (
    BLOCK_SIZE_MAX,
    Block,
    BlockMove,
    Deletion,
    LedgerMark,
)
from magnetar.storage.ledger.local.segments import Segments
from magnetar.storage.ledger.local.settings import LocalLedgerSettings

FAILURE = WriteFailed("the disk refused")


@pytest.fixture
def segments():
    return Segments(Path("/data"), LocalLedgerSettings(), salt)


@pytest.fixture
def segment(segments):
    return segments.begin(1, 100)[0]


@pytest.fixture
def ledger():
    return Ledger(7)


class Answers(list):
    """What a block answered."""

    def __call__(self, first, error):
        self.append((first, error))


def head(job, generation=1):
    record = b"".join(job.encode(stamp(generation), 0))
    assert len(record) == job.size
    return head_at(record, 0, stamp(generation))


async def test_a_block_that_landed_can_be_found(segment, ledger):
    ledger.appending = 1
    answers = Answers()
    block = Block(ledger, 3, *run("a", "bb"), answers)
    assert head(block)[4:] == (7, 3, 3, 2)
    block.landed(segment, 4096)
    block.answer(None)
    assert ledger.place(3) == location(1, 4096)
    assert (ledger.next_entry_id, ledger.size_bytes, ledger.appending) == (5, 3, 0)
    assert segment.ledgers == {7: block.size}
    assert answers == [(3, None)]


async def test_a_block_that_failed_closes_its_ledger(ledger):
    ledger.appending = 1
    answers = Answers()
    block = Block(ledger, 0, *run("a"), answers)
    block.failed()
    block.answer(FAILURE)
    assert ledger.closed_because == "a write to it failed"
    assert (ledger.next_entry_id, ledger.appending) == (0, 0)
    assert answers == [(-1, FAILURE)]


def test_a_run_that_is_too_large_becomes_several_blocks(ledger):
    data, checksums = run(*(bytes([n]) * 1_000_000 for n in range(10)))
    block = Block(ledger, 5, data, checksums, None)
    parts = block.parts()
    assert len(parts) > 1
    assert all(part.size <= BLOCK_SIZE_MAX for part in parts)
    heads = [head(part) for part in parts]
    assert [each.first for each in heads] == [
        5 + sum(h.entries for h in heads[:n]) for n in range(len(heads))
    ]
    assert b"".join(
        p[-1_000_000:] for part in parts for p in part.encode(stamp(1), 0)[1:]
    ) == b"".join(data)


def test_the_last_of_several_blocks_answers_for_all(ledger, segment):
    ledger.appending = 100
    answers = Answers()
    *early, late = Block(ledger, 5, *run(*range(200_000)), answers).parts()
    for part in early:
        part.landed(segment, 4096)
        part.answer(None)
    assert early
    assert answers == []
    late.answer(None)
    late.answer(FAILURE)
    assert answers == [(5, None), (-1, FAILURE)]


def test_a_huge_entry_stays_whole(ledger):
    block = Block(ledger, 0, *run(b"x" * (BLOCK_SIZE_MAX + 1)), None)
    assert block.fits
    assert block.parts() == [block]


async def test_the_newest_mark_of_a_ledger_is_the_one_alive(segments, segment, ledger):
    LedgerMark(Kind.CREATED, ledger, segments).landed(segment, 4096)
    assert (ledger.marked_in, segment.live) == (segment, HEAD_SIZE)
    other = segments.begin(1, 100)[0]
    ledger.next_entry_id = 12
    mark = LedgerMark(Kind.ENDED, ledger, segments)
    assert head(mark)[:1] + head(mark)[4:6] == (Kind.ENDED, 7, 12)
    mark.landed(other, 4096)
    assert (ledger.marked_in, segment.live, other.live) == (other, 0, HEAD_SIZE)


async def test_a_mark_that_failed_changes_nothing(segments, ledger):
    mark = LedgerMark(Kind.CREATED, ledger, segments)
    mark.failed()
    mark.answer(FAILURE)
    assert ledger.marked_in is None
    assert mark.receipt.exception() is FAILURE


async def test_a_mark_that_lands_after_the_deletion_is_remembered(segments, segment, ledger):
    ledger.delete()
    LedgerMark(Kind.ENDED, ledger, segments).landed(segment, 4096)
    assert segments.deleted == {7: {1}}
    assert segment.live == 0


async def test_a_deletion_forgets_when_it_landed_and_when_it_failed(segment):
    calls = []

    def forget(*, durable):
        calls.append(durable)

    deletion = Deletion(7, forget)
    assert head(deletion)[4] == 7
    deletion.landed(segment, 4096)
    deletion.answer(None)
    assert segment.notes.deletions == [7]
    again = Deletion(7, forget)
    again.failed()
    again.answer(FAILURE)
    assert calls == [True, False]
    assert deletion.receipt.result() is None
    assert again.receipt.exception() is FAILURE


async def test_a_moved_block_is_found_in_its_new_place(segments, segment, ledger):
    block = Block(ledger, 0, *run("a", "b"), None)
    record = b"".join(block.encode(stamp(1), 0))
    ledger.add(0, 2, location(1, 4096), 2)
    segment.hold(7, block.size)
    other = segments.begin(1, 100)[0]

    def move():
        return BlockMove(
            ledger=ledger,
            head=head_at(record, 0, stamp(1)),
            record=record,
            source=segment,
            segments=segments,
        )

    job = move()
    assert head(job, 2).entries == 2
    job.landed(other, 5000)
    assert ledger.place(0) == location(2, 5000)
    assert (segment.live, other.live) == (0, block.size)
    ledger.delete()
    move().landed(other, 6000)
    assert ledger.place(0) == location(2, 5000)
    assert segments.deleted == {7: {2}}
    move().failed()
    assert ledger.place(0) == location(2, 5000)


async def test_nobody_need_wait_for_an_answer():
    deletion = Deletion(7, lambda **_: None)
    deletion.receipt.cancel()
    deletion.answer(FAILURE)
    assert deletion.receipt.cancelled()
