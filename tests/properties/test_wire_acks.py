"""Acknowledgements cut in runs say what protobuf says of them one by one."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from magnetar.model.position import Position
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire import requests
from magnetar.wire.frames import FrameDecoder

LEDGERS = st.sampled_from([0, 7, 300, 2**40]) | st.integers(0, 2**64 - 1)
FIRSTS = st.sampled_from([0, 100, 16_350, 2_097_000, 2**35 - 20, 2**63 - 30])
CONSUMERS = st.sampled_from([0, 1, 200, 2**28])


@st.composite
def alike(draw):
    """What a client with one subscription sends: a stretch, one by one or as a list."""
    consumer, ledger, first = draw(CONSUMERS), draw(LEDGERS), draw(FIRSTS)
    step = draw(st.sampled_from([1, 1, 3]))
    positions = [Position(ledger, first + n * step) for n in range(draw(st.integers(1, 40)))]
    for _ in range(draw(st.integers(0, 3))):
        odd = Position(draw(LEDGERS), draw(st.integers(0, 2**64 - 1)))
        positions.insert(draw(st.integers(0, len(positions))), odd)
    if draw(st.booleans()):
        return requests.ack(consumer, positions)
    return b"".join(requests.ack(consumer, [position]) for position in positions)


others = st.sampled_from(
    [
        requests.ping(),
        requests.flow(1, 500),
        requests.ack(1, [Position(7, 5)], cumulative=True),
        requests.ack(1, [Position(7, 5)], request_id=9),
        requests.ack(1, [Position(7, 5)], ack_sets=[[5]]),
        requests.ack(1, [Position(7, 5), Position(7, 6)], ack_sets=[[], [5]]),
        requests.ack(1, [Position(7, 5)], validation_error=1),
        requests.ack(1, []),
    ]
)
streams = st.lists(alike() | others, max_size=5).map(b"".join)


def told(frames):
    """What is acknowledged, in order, and every other command; lists are runs, runs are lists.

    Those of several consumers that come one after another have an order only among each one's own.
    """
    found = []
    open_runs = {}
    for frame in frames:
        if frame.acks is not None:
            assert frame.command.type == pb.BaseCommand.ACK
            said = frame.acks.consumer_id, frame.acks.entry_ids
        elif plain(frame.command):
            ids = {}
            for one in frame.command.ack.message_id:
                ids.setdefault(one.ledgerId, []).append(one.entryId)
            said = frame.command.ack.consumer_id, ids
        else:
            found.append(frame.command.SerializeToString())
            open_runs = {}
            continue
        if said[0] in open_runs:
            for ledger_id, entry_ids in said[1].items():
                open_runs[said[0]].setdefault(ledger_id, []).extend(entry_ids)
        else:
            found.append(said)
            open_runs[said[0]] = said[1]
    return found


def plain(command):
    """An ACK that says nothing but which entries."""
    ack = command.ack
    return (
        command.type == pb.BaseCommand.ACK
        and ack.ack_type == pb.CommandAck.Individual
        and {field.name for field, _ in ack.ListFields()}
        == {"consumer_id", "ack_type", "message_id"}
        and not any(one.ack_set for one in ack.message_id)
    )


@given(streams, st.lists(st.integers(0, 10_000), max_size=4))
@settings(max_examples=200)
def test_acknowledgements_in_runs_are_those_one_by_one(data, cuts):
    quick, slow = FrameDecoder(acks_in_runs=True), FrameDecoder()
    bounds = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    parts = [data[start:stop] for start, stop in itertools.pairwise(bounds)]
    found = [frame for part in parts for frame in quick.feed(part)]
    assert told(found) == told(slow.feed(data))


def test_what_a_client_sends_one_by_one_comes_out_as_one_run():
    positions = [Position(7, entry) for entry in range(100, 400)]
    data = b"".join(requests.ack(3, [position]) for position in positions)
    [frame] = FrameDecoder(acks_in_runs=True).feed(data)
    assert frame.acks.consumer_id == 3
    assert frame.acks.entry_ids == {7: list(range(100, 400))}
