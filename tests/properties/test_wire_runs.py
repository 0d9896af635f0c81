"""Receipts and messages for a run, made all at once, are the single ones in a row."""

from google_crc32c import value as crc32c
from hypothesis import given
from hypothesis import strategies as st

from magnetar.message.send_run import SendRun
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.wire import replies

NUMBERS = st.integers(0, 300) | st.integers(0, 2**64 - 1)
ENTRY_IDS = st.integers(0, 40_000) | st.sampled_from([110, 16_360]) | st.integers(0, 2**62)


@st.composite
def send_runs(draw):
    count = draw(st.integers(1, 40))
    if draw(st.booleans()):
        first = draw(NUMBERS)
        sequences = [(first + index) % 2**64 for index in range(count)]
    else:
        sequences = draw(st.lists(NUMBERS, min_size=count, max_size=count))
    highest = draw(st.lists(st.just(0) | NUMBERS, min_size=count, max_size=count))
    entries = [b"entry"] * count
    return SendRun.of(draw(NUMBERS), sequences, entries, [0] * count, [1] * count, highest)


@given(send_runs(), NUMBERS, ENTRY_IDS)
def test_receipts(run, ledger_id, first_entry_id):
    plain = [
        replies.send_receipt(
            run.producer_id,
            sequence,
            ledger_id,
            first_entry_id + index,
            highest_sequence_id=run.highest[index],
        )
        for index, sequence in enumerate(run.sequences)
    ]
    assert replies.send_receipts(run, ledger_id, first_entry_id) == b"".join(plain)


@st.composite
def deliveries(draw):
    count = draw(st.integers(1, 40))
    size = draw(st.none() | st.integers(1, 50))
    sizes = st.integers(1, 200) if size is None else st.just(size)
    entries = [b"x" * each for each in draw(st.lists(sizes, min_size=count, max_size=count))]
    run = EntryRun(draw(NUMBERS), draw(ENTRY_IDS), entries, list(map(crc32c, entries)))
    counts = st.lists(st.integers(0, 2) | st.integers(0, 2**32 - 1), min_size=count, max_size=count)
    words = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3)
    ack_sets = st.lists(st.just([]) | words, min_size=count, max_size=count)
    return run, draw(st.none() | counts), draw(st.none() | ack_sets)


@given(deliveries(), NUMBERS, st.integers(-1, 2000), st.none() | NUMBERS, st.data())
def test_messages(delivery, consumer_id, partition, epoch, data):
    run, counts, ack_sets = delivery
    picked = data.draw(
        st.none() | st.sets(st.sampled_from(range(len(run))), min_size=1).map(sorted)
    )
    indexes = range(len(run)) if picked is None else picked
    counts = counts and counts[: len(indexes)]
    ack_sets = ack_sets and ack_sets[: len(indexes)]
    plain = []
    for place, index in enumerate(indexes):
        plain += replies.message(
            consumer_id,
            Position(run.ledger_id, run.first_entry_id + index),
            partition=partition,
            entry=run.data[index],
            checksum=run.checksums[index],
            redelivery_count=counts[place] if counts else 0,
            ack_set=ack_sets[place] if ack_sets else (),
            consumer_epoch=epoch,
        )
    made = replies.message_frames(
        consumer_id,
        run,
        picked=picked,
        partition=partition,
        redelivery_counts=counts,
        ack_sets=ack_sets,
        consumer_epoch=epoch,
    )
    assert b"".join(made) == b"".join(plain)
