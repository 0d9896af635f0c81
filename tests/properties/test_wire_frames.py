"""However the bytes are cut, and whichever way they are read: the same frames."""

from itertools import groupby, pairwise
from operator import itemgetter

from hypothesis import example, given, settings
from hypothesis import strategies as st
from unit.wire.sending import CHECKSUM, framed, send_frame

from magnetar.errors import ProtocolError
from magnetar.message.send_run import SendRun
from magnetar.model.position import Position
from magnetar.wire import replies, requests
from magnetar.wire.commands import CommandSend, serialize
from magnetar.wire.frames import Frame, FrameDecoder, decode

NUMBERS = st.integers(0, 300) | st.integers(0, 2**64 - 1)

named = st.builds(
    lambda most, least, rest: b"\0\0\0%c\x0a\x01p\xb0\x01%c\xb8\x01%c" % (9, least, most) + rest,
    st.integers(0, 2),
    st.integers(0, 2),
    st.binary(max_size=20),
)
"""Entries that name a transaction."""

sends = st.builds(
    send_frame,
    st.integers(0, 3) | st.integers(0, 2**64 - 1),
    NUMBERS,
    st.binary(min_size=1, max_size=60) | named,
    num_messages=st.none() | st.integers(-1, 1000),
    highest_sequence_id=st.none() | NUMBERS,
    checksum=st.booleans(),
    is_chunk=st.none() | st.booleans(),
    txnid_most_bits=st.none() | st.integers(0, 2),
    txnid_least_bits=st.none() | st.integers(0, 2),
)

damaged_sends = sends.map(lambda frame: frame[:-1] + bytes([frame[-1] ^ 1]))


@st.composite
def stretches(draw):
    """Many sends alike, with something of another kind in between now and then."""
    first = draw(st.sampled_from([0, 100, 16_300, 2_097_000, 2**63 - 40]))
    size = draw(st.integers(1, 40))
    fields = {"num_messages": draw(st.none() | st.integers(1, 500))}
    if draw(st.booleans()):
        fields |= {"txnid_most_bits": 1, "txnid_least_bits": draw(NUMBERS)}
    with_highest = draw(st.booleans())
    frames = []
    for index in range(draw(st.integers(1, 60))):
        highest = {"highest_sequence_id": first + index + 100} if with_highest else {}
        entry = bytes([index]) * size
        frames.append(send_frame(1, first + index, entry, **fields, **highest))
    for _ in range(draw(st.integers(0, 3))):
        frames.insert(draw(st.integers(0, len(frames))), draw(sends | damaged_sends))
    return b"".join(frames)


others = st.sampled_from(
    [
        requests.ping(),
        requests.flow(1, 1000),
        framed(replies.pong()[8:], b"to be ignored"),
        requests.lookup(1, "persistent://public/default/t"),
        replies.success(300),
    ]
)
messages = st.builds(
    lambda entry, epoch: b"".join(
        replies.message(
            1,
            Position(1, 2),
            partition=-1,
            entry=entry,
            checksum=7,
            consumer_epoch=epoch,
        )
    ),
    st.binary(min_size=1, max_size=60),
    st.none() | st.integers(0, 9),
)
streams = st.lists(sends | damaged_sends | stretches() | others | messages, max_size=8).map(
    b"".join
)


def one_by_one(items):
    """Frames and sends without regard to how they were grouped.

    Those of several producers that come one after another have an order only among each one's own.
    """
    for are_sends, some in groupby(items, lambda item: isinstance(item, SendRun)):
        each = list(each_of(some))
        yield from sorted(each, key=itemgetter(0)) if are_sends else each


def each_of(items):
    for item in items:
        if isinstance(item, SendRun):
            for send in zip(
                item.sequences,
                item.data,
                item.checksums,
                item.message_counts,
                item.highest,
                strict=True,
            ):
                yield item.producer_id, item.transaction, *send
        else:
            assert isinstance(item, Frame)
            yield (
                item.command.SerializeToString(),
                item.entry,
                item.checksum,
                item.checksum_ok,
            )


def read_plainly(data):
    """Frame by frame, each as a whole, through protobuf."""
    while data:
        size = 4 + int.from_bytes(data[:4])
        yield decode(data[:size], 0, size)
        data = data[size:]


def read_in_parts(data, cuts, *, keeps_buffer=False):
    """As a connection reads: what belongs to a big frame goes right to its place."""
    decoder = FrameDecoder(keeps_buffer=keeps_buffer)
    bounds = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for start, stop in pairwise(bounds):
        part = data[start:stop]
        place = decoder.buffer(-1)
        if place is not None and len(place) >= len(part):
            place[: len(part)] = part
            yield from decoder.filled(len(part))
        else:
            yield from decoder.feed(memoryview(part) if start % 2 else part)
    if decoder.failure is not None:
        raise decoder.failure


@given(streams)
@settings(max_examples=200)
def test_the_quick_way_and_the_plain_way_read_the_same(data):
    assert list(one_by_one(FrameDecoder().feed(data))) == list(one_by_one(read_plainly(data)))


@given(streams, st.lists(st.integers(0, 1 << 16), max_size=12))
def test_any_split_gives_the_same_frames(data, cuts):
    whole = list(one_by_one(FrameDecoder().feed(data)))
    assert list(one_by_one(read_in_parts(data, cuts))) == whole


@given(
    st.lists(st.integers(0, 3).map(lambda size: send_frame(1, size, bytes(size * 50_000 + 9)))),
    st.lists(st.integers(0, 1 << 20), max_size=12),
    st.booleans(),
)
@settings(max_examples=40)
def test_any_split_of_big_frames_gives_the_same_frames(frames, cuts, keeps_buffer):
    data = b"".join(frames)
    whole = list(one_by_one(FrameDecoder().feed(data)))
    assert list(one_by_one(read_in_parts(data, cuts, keeps_buffer=keeps_buffer))) == whole
    assert len(whole) == len(frames)


@given(st.lists(stretches(), min_size=1, max_size=3))
def test_consecutive_sends_of_one_producer_are_one_run(parts):
    runs = FrameDecoder().feed(b"".join(parts))
    for before, after in pairwise(runs):
        both = isinstance(before, SendRun) and isinstance(after, SendRun)
        assert not (both and before.goes_on_with(after))


def outcome(read):
    """What comes out, and how it ends."""
    found = []
    try:
        for item in read:
            found.append(item)  # noqa: PERF402 - what came before a failure stays
    except ProtocolError as error:
        return list(one_by_one(found)), str(error)
    return list(one_by_one(found)), None


@st.composite
def damaged(draw):
    """A stream with something wrong in it; or something altogether different."""
    data = draw(streams | st.binary(max_size=80))
    at = draw(st.integers(0, len(data)))
    return data[:at] + draw(st.binary(max_size=6)) + data[at + draw(st.integers(0, 2)) :]


@given(damaged(), st.lists(st.integers(0, 1 << 12), max_size=5))
@example(b"\0\0\0\4\0\0\0\0", [1, 5])
def test_bytes_of_any_kind_raise_protocol_errors_and_the_same_however_cut(data, cuts):
    assert outcome(read_in_parts(data, cuts)) == outcome(read_in_parts(data, []))


@given(
    producer=NUMBERS,
    sequence=NUMBERS,
    count=st.integers(1, 100_000),
    highest=st.none() | NUMBERS,
    is_chunk=st.booleans(),
)
def test_a_send_is_written_as_protobuf_would(*, producer, sequence, count, highest, is_chunk):
    pieces = requests.send(
        producer,
        sequence,
        b"entry",
        7,
        num_messages=count,
        highest_sequence_id=highest,
        is_chunk=is_chunk,
    )
    command = CommandSend(
        producer_id=producer,
        sequence_id=sequence,
        num_messages=None if count == 1 else count,
        highest_sequence_id=highest,
        is_chunk=is_chunk or None,
    )
    plain = framed(serialize(command), CHECKSUM + (7).to_bytes(4) + b"entry")
    assert b"".join(pieces) == plain
