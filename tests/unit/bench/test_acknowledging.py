"""Consumers that acknowledge: what they say is what a client would say."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from bench.acknowledging import IdCounter, _cumulative, _each, _in_lists
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.wire import replies, requests
from magnetar.wire.frames import FrameDecoder

RUNS = st.builds(
    lambda ledger, first, sizes: EntryRun(
        ledger, first, [b"x" * size for size in sizes], [0] * len(sizes)
    ),
    st.sampled_from([7, 300]),
    st.sampled_from([0, 120, 16_380]),
    st.lists(st.sampled_from([10, 11, 300]), min_size=1, max_size=20),
)


def ids_of(stream, cuts):
    counter = IdCounter()
    for start, stop in itertools.pairwise([0, *sorted(cuts), len(stream)]):
        data = counter.rest + stream[start:stop]
        counter.take(data, len(data))
    assert counter.rest == b""
    return counter


@given(st.data(), st.lists(RUNS, min_size=1, max_size=4))
def test_every_message_is_named_however_the_stream_was_cut(data, runs):
    stream = b"".join(
        b"".join(replies.message_frames(1, run, partition=-1)) + replies.ping() for run in runs
    )
    counter = ids_of(stream, data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    positions = [
        Position(run.ledger_id, run.first_entry_id + index)
        for run in runs
        for index in range(len(run))
    ]
    assert counter.messages == len(positions)
    assert len(counter.others) == len(runs)
    assert _each(counter.ids) == b"".join(requests.ack(1, [p]) for p in positions)
    assert _in_lists(counter.ids) == requests.ack(1, positions)
    assert _cumulative(counter.ids) == requests.ack(1, positions[-1:], cumulative=True)


def test_a_long_list_is_cut_into_commands():
    run = EntryRun(7, 0, [b"x" * 10] * 1500, [0] * 1500)
    stream = b"".join(replies.message_frames(1, run, partition=-1))
    frames = FrameDecoder().feed(_in_lists(ids_of(stream, []).ids))
    assert [len(frame.command.ack.message_id) for frame in frames] == [1000, 500]
