"""inner/plain/messages.py: many messages at once are the single ones in a row."""

import pytest
from google_crc32c import value as crc32c
from unit.inner.builds import both_builds

from magnetar.inner.plain.messages import JOINED_SIZE_MAX
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.wire.replies import consume, message, message_frames, produce

pytestmark = both_builds


@pytest.fixture(autouse=True)
def _made_by(loops, monkeypatch):
    for module in (consume, produce):
        monkeypatch.setattr(module, "inner", loops)


def run_of(entries, *, ledger_id=77, first_entry_id=0):
    entries = list(entries)
    checksums = list(map(crc32c, entries))
    return EntryRun(ledger_id, first_entry_id, entries, checksums)


def singly(run, consumer_id=1, *, partition=-1, counts=None, ack_sets=None, epoch=None):
    pieces = []
    for index, entry in enumerate(run.data):
        pieces += message(
            consumer_id,
            Position(run.ledger_id, run.first_entry_id + index),
            partition=partition,
            entry=entry,
            checksum=run.checksums[index],
            redelivery_count=counts[index] if counts else 0,
            ack_set=ack_sets[index] if ack_sets else (),
            consumer_epoch=epoch,
        )
    return b"".join(pieces)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 100, 1000])
@pytest.mark.parametrize("first_entry_id", [0, 120, 127, 128, 16_380, 16_384, 32_760, 2_097_150])
def test_messages_of_a_run(count, first_entry_id):
    run = run_of([b"entry %06d" % index for index in range(count)], first_entry_id=first_entry_id)
    made = message_frames(1, run, partition=-1)
    assert b"".join(made) == singly(run)


@pytest.mark.parametrize("count", [3, 200])
def test_entries_may_be_of_any_size(count):
    run = run_of([b"x" * (1 + index % 300) for index in range(count)], ledger_id=2**40)
    made = message_frames(300, run, partition=17, consumer_epoch=3)
    assert b"".join(made) == singly(run, 300, partition=17, epoch=3)


def test_redelivery_counts_are_told_where_there_are_any():
    run = run_of([b"entry"] * 100)
    counts = [0] * 20 + [1] * 30 + [300] + [1, 0] * 24 + [2]
    made = message_frames(1, run, partition=0, redelivery_counts=counts, consumer_epoch=0)
    assert b"".join(made) == singly(run, partition=0, counts=counts, epoch=0)


def test_ack_sets_are_told_where_there_are_any():
    run = run_of([b"entry"] * 30)
    ack_sets = [[] for _ in run.data]
    ack_sets[4] = [6]
    ack_sets[5] = [-1, 2**63 - 1] * 8
    counts = [1] * 30
    made = message_frames(1, run, partition=-1, redelivery_counts=counts, ack_sets=ack_sets)
    assert b"".join(made) == singly(run, counts=counts, ack_sets=ack_sets)


def test_nothing_said_about_any_entry_is_as_saying_nothing():
    run = run_of([b"entry"] * 30)
    made = message_frames(1, run, partition=-1, redelivery_counts=[0] * 30, ack_sets=[[]] * 30)
    assert made == message_frames(1, run, partition=-1)


def test_sequences_must_run_parallel():
    with pytest.raises(ValueError, match=r"zip|lengths"):
        message_frames(1, run_of([b"entry"] * 30), partition=-1, redelivery_counts=[1] * 29)


@pytest.mark.parametrize("count", [2, 20])
def test_small_entries_are_joined_and_large_ones_handed_out_as_they_are(count):
    small = message_frames(1, run_of([b"entry"] * count), partition=-1)
    assert len(small) == 1
    run = run_of([bytes(JOINED_SIZE_MAX)] * count)
    large = message_frames(1, run, partition=-1)
    assert len(large) == 2 * count
    assert all(piece is entry for piece, entry in zip(large[1::2], run.data, strict=True))
    assert b"".join(large) == singly(run)


def test_some_entries_may_be_picked():
    run = run_of([b"%03d" % index for index in range(300)], first_entry_id=16_200)
    made = message_frames(1, run, partition=-1, picked=[3, 127, 128, 255, 299])
    parts = [run.part(index, index + 1) for index in (3, 127, 128, 255, 299)]
    assert b"".join(made) == b"".join(map(singly, parts))


def test_what_makes_no_sense_is_refused(loops):
    with pytest.raises(IndexError):
        loops.message_frames(1, 2, 3, -1, [b"a"], [1], [1], None)
    with pytest.raises(ValueError, match="lengths"):
        loops.message_frames(1, 2, 3, -1, [b"a"], [], None, None)


def test_what_is_stored_nowhere_has_one_id(loops):
    data, checksums = [b"a", b"a"], [1, 1]
    [both] = loops.message_frames(1, 0, 0, -1, data, checksums, None, None, 0)
    [one] = loops.message_frames(1, 0, 0, -1, data[:1], checksums[:1], None, None, 0)
    assert both == one * 2
    assert loops.message_frames(1, 0, 0, -1, data, checksums, [1], None, 0) == [one]
