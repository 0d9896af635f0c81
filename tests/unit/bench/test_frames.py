"""Prebuilt sends are what the broker reads; counting agrees with decoding."""

import itertools
from random import Random
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.cases import ALL, Case
from bench.frames import Counter, alike, entry_of, ring
from magnetar.message import batch
from magnetar.message.metadata import parse, peek
from magnetar.message.send_run import SendRun
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.wire import replies
from magnetar.wire.frames import FrameDecoder


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_a_ring_holds_sends_of_every_producer_in_turn(case):
    frames = ring(case)
    sends = [
        (run.producer_id, count)
        for start, end in itertools.pairwise([0, *frames.ends])
        for run in FrameDecoder().feed(frames.data[start:end])
        for count in run.message_counts
    ]
    assert len(sends) == len(frames)
    assert [producer for producer, _ in sends] == list(frames.producers) * (
        len(frames) // len(frames.producers)
    )
    assert len(frames.producers) == case.producers_per_connection
    messages = sum(count for _, count in sends)
    assert frames.messages_per_frame == messages / len(frames)


def sizes(case):
    frames = ring(case)
    runs = FrameDecoder().feed(frames.data)
    return [len(entry) for run in runs for entry in run.data]


def test_sizes_are_drawn_evenly_around_the_one_that_the_case_says():
    found = sizes(Case("varied", size=1000))
    assert (min(found), max(found)) == (700, 1300)
    assert mean(found) == pytest.approx(1000, rel=0.02)
    assert len(set(found)) > 500
    assert set(sizes(Case("alike", size=1000, vary=0))) == {1000}


def test_messages_of_a_batch_vary_too():
    entry = entry_of(Case("batch", size=1000, batch=50), Random(1))
    assert peek(entry).message_count == 50
    _, bodies = batch.unpack(entry[parse(entry).payload_start :], 50)
    assert len({len(body) for body in bodies}) > 1


def test_keys_and_properties_are_on_each_entry():
    found = parse(entry_of(Case("rich", keys=10, properties=3), Random(1)))
    assert len(found.key) == 6
    assert sorted(found.properties) == ["property-0", "property-1", "property-2"]


def test_the_bytes_of_any_number_of_frames_are_known_around_the_end_too():
    frames = ring(Case("some"))
    ends = [0, *frames.ends]
    alone = [stop - start for start, stop in itertools.pairwise(ends)] * 3
    for first, number in ((0, 0), (0, 1), (3, 1990), (1999, 2), (1, 4001)):
        assert frames.size_of(first, number) == sum(alone[first : first + number])


@pytest.mark.parametrize("client", ["python", "java", "go"])
def test_recordings_have_entries_of_their_own_and_batches(client):
    alone, batches = (
        ring(Case(kind, recorded=f"{client}-{kind}")) for kind in ("alone", "batches")
    )
    assert (len(alone), alone.messages_per_frame) == (400, 1)
    assert batches.messages_per_frame == 4000 / len(batches)
    assert len(batches) < 80


def test_a_recording_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(ValueError, match="go-alone, go-batches, java-alone"):
        ring(Case("unheard of", recorded="rust"))


def test_too_many_producers_on_a_connection_are_refused():
    with pytest.raises(ValueError, match="128 producers"):
        ring(Case("crowd", topics=128))


def receipts(count, first=100):
    run = SendRun.of(
        1,
        list(range(first, first + count)),
        [b""] * count,
        [0] * count,
        [1] * count,
        [0] * count,
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


def test_the_bytes_of_messages_are_counted():
    stream = messages([300, 20, 4])
    assert count(stream, [10, 330]).message_bytes == len(stream)


def test_frames_of_another_kind_in_between_end_a_stretch():
    one = receipts(1)
    other = bytearray(one)
    other[9] = 9
    assert alike(one * 3 + other + one, 0, len(one), 5) == 3


def test_one_of_so_many_entries_is_delayed():
    case = Case("some", size=200, delayed=1000)
    frames = ring(case)
    (run,) = FrameDecoder().feed(frames.data)
    late = [number for number, due_ms in enumerate(run.traits.due_ms) if due_ms]
    assert late == list(range(999, len(frames), 1000))


def test_a_ring_without_a_delayed_entry_is_refused():
    with pytest.raises(ValueError, match="only 50 different"):
        ring(Case("large", size=64 * 1024, delayed=1000))
