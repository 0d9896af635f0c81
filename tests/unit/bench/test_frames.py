"""Prebuilt sends are what the broker reads; counting agrees with decoding."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.cases import ALL, Case
from bench.frames import Counter, alike, entry_of, ring
from magnetar.message.metadata import peek
from magnetar.message.send_run import SendRun
from magnetar.message.varint import varint
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.wire import replies
from magnetar.wire.frames import FrameDecoder


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_a_ring_holds_sends_of_every_producer_in_turn(case):
    frames = ring(case)
    sends = [
        (run.producer_id, count)
        for run in FrameDecoder().feed(frames.data)
        for count in run.message_counts
    ]
    assert len(sends) == frames.frame_count
    producers = range(1, case.topics_per_connection + 1)
    assert sends == [(producer, case.batch) for producer in producers] * (
        frames.frame_count // len(producers)
    )


def test_an_entry_has_the_size_that_the_case_says():
    assert len(entry_of(Case("one", size=1024))) == 1024


def test_a_batch_says_how_many_messages_it_holds():
    assert peek(entry_of(Case("batch", batch=50))).message_count == 50


def test_too_many_topics_on_a_connection_are_refused():
    with pytest.raises(ValueError, match="128 topics"):
        ring(Case("crowd", topics=128))


def receipts(count, first=100):
    run = SendRun(
        1, [varint(first + n) for n in range(count)], [b""] * count, [0] * count, [1] * count
    )
    return replies.send_receipts(run, 7, first)


def messages(sizes, first=100):
    count = len(sizes)
    run = EntryRun(7, first, [b"x" * size for size in sizes], [0] * count)
    return b"".join(replies.message_frames(1, run, partition=-1))


def count(stream, cuts):
    """Through a counter, cut at these places, as a reader would."""
    counter = Counter()
    bounds = [0, *sorted(cuts), len(stream)]
    for start, stop in itertools.pairwise(bounds):
        data = counter.rest + stream[start:stop]
        counter.take(data, len(data))
    return counter


PIECES = st.one_of(
    st.integers(1, 300).map(receipts),
    st.lists(st.sampled_from([10, 11, 300]), min_size=1, max_size=50).map(messages),
    st.just(replies.ping()),
)


@given(st.data(), st.lists(PIECES, max_size=6))
def test_what_is_counted_is_what_was_sent_however_it_was_cut(data, pieces):
    stream = b"".join(pieces)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8))
    counter = count(stream, cuts)
    assert counter.rest == b""
    expected = {"receipts": 0, "messages": 0, "pings": 0}
    for frame in FrameDecoder().feed(stream):
        kind = {7: "receipts", 9: "messages", 18: "pings"}[frame.command.type]
        expected[kind] += 1
    assert counter.receipts == expected["receipts"]
    assert counter.messages == expected["messages"]
    assert counter.others == [replies.ping()] * expected["pings"]


def test_the_size_of_messages_is_known():
    counter = count(messages([300, 300]), [])
    assert counter.message_size * 2 == len(messages([300, 300]))


def test_frames_of_another_kind_in_between_end_a_stretch():
    one = receipts(1)
    other = bytearray(one)
    other[9] = 9
    assert alike(one * 3 + other + one, 0, len(one), 5) == 3
