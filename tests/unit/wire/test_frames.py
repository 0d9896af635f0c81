"""wire/frames.py: bytes to frames and back."""

import pytest
from google_crc32c import value as crc32c
from unit.wire.sending import checked, framed, send_frame
from unit.wire.vectors import VECTORS, entry_of, frames

from magnetar.errors import FrameTooLarge, MalformedFrame, ProtocolError
from magnetar.inner.plain import loops as plain
from magnetar.message.send_run import SendRun
from magnetar.wire import replies, requests
from magnetar.wire.commands import (
    BaseCommand,
    CommandMessage,
    CommandPing,
    CommandSend,
    MessageIdData,
    serialize,
)
from magnetar.wire.frames import (
    BIG_FRAME_FIRST_SIZE,
    BIG_FRAME_SIZE,
    FRAME_SIZE_MAX,
    Frame,
    FrameDecoder,
    encode,
    encode_with_entry,
)
from magnetar.wire.receipts import ReceiptRun

MESSAGE = CommandMessage(consumer_id=1, message_id=MessageIdData(ledgerId=5, entryId=0))


def feed(data):
    return FrameDecoder().feed(data)


def message(payload):
    return framed(serialize(MESSAGE), payload)


def big_send(sequence_id, size, **fields):
    return send_frame(1, sequence_id, bytes(range(256)) * (size // 256), **fields)


# What comes out.


def test_a_command_comes_out_as_a_frame():
    (frame,) = feed(requests.flow(7, 100))
    assert isinstance(frame, Frame)
    assert (frame.command.type, frame.command.flow.messagePermits) == (BaseCommand.FLOW, 100)
    assert frame.entry is None


def test_the_order_of_the_wire_is_kept():
    data = (
        requests.ping()
        + send_frame(1, 0, b"a")
        + send_frame(1, 1, b"b")
        + send_frame(2, 0, b"c")
        + requests.pong()
        + send_frame(2, 1, b"d")
    )
    ping, first, second, pong, third = feed(data)
    assert ping.command.HasField("ping")
    assert pong.command.HasField("pong")
    assert [(run.producer_id, run.data) for run in (first, second, third)] == [
        (1, [b"a", b"b"]),
        (2, [b"c"]),
        (2, [b"d"]),
    ]


def test_a_general_send_joins_the_run_it_stands_in():
    data = (
        send_frame(1, 0, b"a")
        + send_frame(1, 1, b"b", is_chunk=True)
        + send_frame(1, 2, b"c", checksum=False)
        + send_frame(1, 3, b"d", marker=True, highest_sequence_id=3)
        + send_frame(1, 4, b"e", num_messages=-1)
        + send_frame(1, 5, b"f", num_messages=0)
        + send_frame(1, 6, b"g", num_messages=4)
    )
    (run,) = feed(data)
    assert run.data == [b"a", b"b", b"c", b"d", b"e", b"f", b"g"]
    assert run.sequences == list(range(7))
    assert run.checksums == list(map(crc32c, run.data))
    assert run.message_counts == [1, 1, 1, 0, 0, 0, 4]
    assert run.highest == [0, 0, 0, 3, 0, 0, 0]


def test_a_wrong_checksum_is_told_and_its_place_kept():
    bad = send_frame(1, 1, b"b")[:-1] + b"X"
    before, frame, after = feed(send_frame(1, 0, b"a") + bad + send_frame(1, 2, b"c"))
    assert (before.data, after.data) == ([b"a"], [b"c"])
    assert isinstance(frame, Frame)
    assert (frame.checksum_ok, frame.entry) == (False, b"X")
    assert (frame.command.send.producer_id, frame.command.send.sequence_id) == (1, 1)


def test_many_wrong_checksums_are_all_told():
    bad = [send_frame(1, index, b"some entry")[:-1] + b"X" for index in range(300)]
    found = feed(b"".join(bad) + send_frame(1, 300, b"some entry"))
    assert [frame.command.send.sequence_id for frame in found[:-1]] == list(range(300))
    assert not any(frame.checksum_ok for frame in found[:-1])
    assert found[-1].data == [b"some entry"]


def test_many_wrong_checksums_cost_no_more_than_a_few_checks_each(monkeypatch):
    checks = 0

    def counted(entry):
        nonlocal checks
        checks += 1
        return crc32c(entry)

    monkeypatch.setattr("magnetar.inner.plain.sends.checksum", counted)
    monkeypatch.setattr("magnetar.wire.frames.cut_sends", plain.cut_sends)
    bad = [send_frame(1, index, b"some entry")[:-1] + b"X" for index in range(1000)]
    assert len(feed(b"".join(bad))) == 1000
    assert 1000 <= checks < 3000


@pytest.mark.parametrize("fields", [{}, {"is_chunk": True}])
def test_sends_of_a_transaction_are_a_run(fields):
    first, last = feed(
        send_frame(1, 0, b"a", txnid_least_bits=0, txnid_most_bits=0, **fields)
        + send_frame(1, 1, b"b", txnid_least_bits=0, txnid_most_bits=0, **fields)
        + send_frame(1, 2, b"c", txnid_least_bits=1, txnid_most_bits=0, **fields)
    )
    assert (first.transaction, first.data) == ((0, 0), [b"a", b"b"])
    assert (last.transaction, last.data) == ((0, 1), [b"c"])


def test_half_a_transaction_is_none():
    (run,) = feed(send_frame(1, 0, b"a", txnid_least_bits=4))
    assert run.transaction is None


@pytest.mark.parametrize(
    "payload",
    [
        checked(b"entry"),
        b"entry",
        b"\x0e\x02\0\0\0\x03abc" + checked(b"entry"),
        b"\x0e\x02\0\0\0\x03abcentry",
    ],
)
def test_a_message_comes_with_its_entry(payload):
    (frame,) = feed(message(payload))
    assert frame.command.message.message_id.ledgerId == 5
    assert (frame.entry, frame.checksum, frame.checksum_ok) == (b"entry", crc32c(b"entry"), True)


def test_a_message_may_have_been_damaged():
    (frame,) = feed(message(checked(b"entry")[:-1] + b"X"))
    assert (frame.entry, frame.checksum_ok) == (b"entrX", False)
    assert frame.checksum == crc32c(b"entrX")


# What was recorded.


@pytest.mark.parametrize("name", frames("replies"))
def test_recorded_replies_can_be_read(name):
    (frame,) = feed(frames("replies")[name])
    assert isinstance(frame, Frame)
    assert frame.checksum_ok


@pytest.mark.parametrize("name", frames("accepted"))
def test_recorded_frames_that_a_broker_takes_are_taken(name):
    (found,) = feed(frames("accepted")[name])
    if isinstance(found, SendRun):
        assert found.checksums == list(map(crc32c, found.data))
    else:
        assert found.command.HasField("ping")


def test_an_entry_without_a_checksum_is_kept_as_it_came():
    (run,) = feed(frames("accepted")["no checksum"])
    assert run.data == [b"\x00\x00\x01\x00abc"]


@pytest.mark.parametrize("name", VECTORS["closes_the_connection"])
def test_recorded_frames_that_end_a_connection_are_refused(name):
    with pytest.raises(ProtocolError) as raised:
        feed(frames("closes_the_connection")[name])
    assert len(str(raised.value)) > 10


# Limits and bad frames.


def test_a_frame_may_be_as_large_as_the_limit():
    decoder = FrameDecoder(frame_size_max=100)
    room = 100 - len(send_frame(1, 0, b""))
    assert decoder.feed(send_frame(1, 0, b"x" * room))
    with pytest.raises(FrameTooLarge, match="101 bytes; at most 100"):
        decoder.feed(send_frame(1, 0, b"x" * (room + 1)))


def test_a_frame_too_large_is_refused_as_soon_as_its_size_is_known():
    assert FrameDecoder().feed((FRAME_SIZE_MAX - 4).to_bytes(4)) == []
    decoder = FrameDecoder()
    decoder.feed((FRAME_SIZE_MAX - 3).to_bytes(4)[:3])
    with pytest.raises(FrameTooLarge):
        decoder.feed((FRAME_SIZE_MAX - 3).to_bytes(4)[3:])


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"\0\0\0\3", "no room for a command size"),
        (framed(b""), "required fields: type"),
        (b"\0\0\0\x09\0\0\0\x06\x08\x12\x92\x01\x00", "command size 6 in a frame of total size 9"),
        (framed(serialize(CommandSend(producer_id=1, sequence_id=1))), "no entry"),
        (message(b""), "no entry"),
        (message(checked(b"")), "no entry"),
        (message(b"\x0e\x02\x7f\xff\xff\xff123"), "no entry"),
        (framed(serialize(CommandSend(producer_id=1, sequence_id=1))[:-1]), "not protobuf"),
        (requests.lookup(1, "topic").replace(b"topic", b"t\xffpic"), "not UTF-8 in .*topic"),
    ],
)
def test_a_bad_frame_is_refused_with_a_reason(frame, reason):
    with pytest.raises(MalformedFrame, match=reason):
        feed(frame)


def test_what_came_before_a_bad_frame_comes_out_first():
    decoder = FrameDecoder()
    ping, run = decoder.feed(requests.ping() + send_frame(1, 0, b"a") + framed(b"\x08\x63"))
    assert ping.command.HasField("ping")
    assert run.data == [b"a"]
    assert isinstance(decoder.failure, MalformedFrame)
    with pytest.raises(MalformedFrame):
        decoder.feed(b"")


def test_nothing_is_read_after_a_bad_frame():
    decoder = FrameDecoder()
    with pytest.raises(MalformedFrame):
        decoder.feed(framed(b"\x08\x63") + requests.ping())
    with pytest.raises(MalformedFrame):
        decoder.feed(requests.ping())


def test_an_incomplete_frame_waits():
    decoder = FrameDecoder()
    data = requests.ping()
    for index in range(len(data) - 1):
        assert decoder.feed(data[index : index + 1]) == []
    assert len(decoder.feed(data[-1:])) == 1


# Big frames.


@pytest.mark.parametrize("seen", [4, 8, 20, 1000, 40_000])
def test_the_rest_of_a_big_frame_is_received_in_place(seen):
    data = big_send(3, 5 << 20)
    decoder = FrameDecoder()
    assert decoder.feed(data[:seen]) == []
    frames = []
    while not frames:
        place = decoder.buffer(1)
        part = data[seen : seen + min(len(place), 1 << 20)]
        place[: len(part)] = part
        frames = decoder.filled(len(part))
        seen += len(part)
    (run,) = frames
    assert (run.data, run.checksums) == ([entry_of(data)[0]], [entry_of(data)[1]])
    assert type(run.data[0]) is bytes
    assert decoder.buffer(1) is None


def test_small_frames_need_no_place_of_their_own():
    decoder = FrameDecoder()
    decoder.feed(requests.ping()[:6])
    assert decoder.buffer(1) is None
    decoder.feed(requests.ping()[6:])
    assert decoder.buffer(1) is None


def test_a_big_frame_may_also_be_fed():
    data = big_send(0, 100_000) + big_send(1, 200_000) + requests.ping()
    decoder, found = FrameDecoder(), []
    for at in range(0, len(data), 30_000):
        found += decoder.feed(data[at : at + 30_000])
    assert [type(one) for one in found] == [SendRun, SendRun, Frame]
    assert found[1].data == [entry_of(big_send(1, 200_000))[0]]


def test_a_big_frame_that_is_complete_at_once_is_no_exception():
    first, second = feed(big_send(0, 100_000) + requests.ping())
    assert first.data == [entry_of(big_send(0, 100_000))[0]]
    assert second.command.HasField("ping")


@pytest.mark.parametrize("keeps_buffer", [False, True])
def test_one_big_frame_may_follow_the_other(keeps_buffer):
    decoder = FrameDecoder(keeps_buffer=keeps_buffer)
    runs = []
    for index, size in enumerate((80_128, 200_192, 51_200)):
        data = big_send(index, size)
        decoder.feed(data[:100])
        decoder.buffer(1)[:] = data[100:]
        runs += decoder.filled(len(data) - 100)
    assert [run.data[0] for run in runs] == [
        entry_of(big_send(index, size))[0] for index, size in enumerate((80_128, 200_192, 51_200))
    ]


def test_frames_out_of_a_view_keep_nothing_of_it():
    data = big_send(0, 80_128) + big_send(1, 80_128) + requests.ping() + big_send(2, 80_128)
    memory = bytearray(data)
    first, ping, second = FrameDecoder().feed(memoryview(memory))
    memory[:] = bytes(len(memory))
    assert [type(entry) for entry in first.data + second.data] == [bytes] * 3
    assert first.data == [entry_of(big_send(index, 80_128))[0] for index in range(2)]
    assert second.data == [entry_of(big_send(2, 80_128))[0]]
    assert ping.command.HasField("ping")


def test_the_memory_of_a_big_frame_may_serve_the_next_one_but_no_larger_one():
    decoder = FrameDecoder(keeps_buffer=True)
    places = []
    for whole in (80_128, 200_192, 2 * BIG_FRAME_FIRST_SIZE, 51_200):
        data = big_send(1, whole)
        decoder.feed(data[:100])
        filled = 100
        while filled < len(data):
            place = decoder.buffer(1)
            places.append(place.obj)
            size = min(len(place), len(data) - filled)
            place[:size] = data[filled : filled + size]
            runs = decoder.filled(size)
            filled += size
        assert runs[0].data[0] == entry_of(data)[0]
    assert places[0] is places[1]
    assert len(places[-1]) == BIG_FRAME_FIRST_SIZE


def test_a_big_frame_beyond_the_limit_is_refused_out_of_a_view_too():
    with pytest.raises(FrameTooLarge):
        FrameDecoder(frame_size_max=50_000).feed(memoryview(big_send(0, 80_128)))


def test_a_big_frame_may_be_bad_too():
    decoder = FrameDecoder()
    data = framed(b"\x08\x63" + bytes(BIG_FRAME_SIZE))
    decoder.feed(data[:10])
    decoder.buffer(1)[:] = data[10:]
    with pytest.raises(MalformedFrame):
        decoder.filled(len(data) - 10)
    assert decoder.failure is not None
    with pytest.raises(MalformedFrame):
        decoder.feed(requests.ping())


def test_no_more_can_be_filled_than_there_is_room_for():
    decoder = FrameDecoder()
    data = big_send(0, 80_128)
    decoder.feed(data[:100])
    with pytest.raises(AssertionError, match="room"):
        decoder.filled(len(data) - 99)


# And back.


def test_what_is_encoded_is_decoded():
    (frame,) = feed(encode(CommandPing()))
    assert frame.command.HasField("ping")
    (frame,) = feed(b"".join(encode_with_entry(MESSAGE, b"entry", crc32c(b"entry"))))
    assert frame.command.message == MESSAGE
    assert (frame.entry, frame.checksum_ok) == (b"entry", True)


def test_a_broker_can_read_what_a_client_sends():
    pieces = requests.send(
        3, 70, b"entry", crc32c(b"entry"), num_messages=10, highest_sequence_id=79
    )
    (run,) = feed(b"".join(pieces))
    assert (run.producer_id, run.data, run.message_counts) == (3, [b"entry"], [10])
    assert run.highest == [79]


def test_a_client_can_read_what_a_broker_answers():
    run = SendRun.of(3, [0x46], [b"entry"], [0], [1], [0])
    (frame,) = feed(replies.send_receipts(run, 7, 8))
    receipt = frame.command.send_receipt
    assert (receipt.producer_id, receipt.sequence_id) == (3, 70)
    assert (receipt.message_id.ledgerId, receipt.message_id.entryId) == (7, 8)


@pytest.mark.parametrize("fed", [True, False])
def test_a_big_frame_has_memory_as_it_comes(fed):
    """Not at once for the few bytes that announce it."""
    size = 5 * 1024 * 1024
    data = big_send(1, size)
    decoder = FrameDecoder(2 * size)
    assert decoder.feed(data[:16]) == []
    held, position, out = [], 16, []
    while not out:
        held.append(decoder.held_bytes / position)
        part = data[position : position + 100_000]
        if fed:
            out = decoder.feed(part)
        else:
            room = decoder.buffer()
            part = part[: len(room)]
            room[: len(part)] = part
            out = decoder.filled(len(part))
        position += len(part)
    assert position == len(data)
    (run,) = out
    assert len(run.data[0]) >= size
    assert held[0] * 16 == BIG_FRAME_FIRST_SIZE
    assert max(held[3:]) <= 2


def test_receipts_in_runs_are_cut_when_that_was_asked_for():
    data = plain.send_receipts(3, [4, 5], [6, 7], 8, 9) + replies.pong()
    decoder = FrameDecoder()
    assert [each.receipts for each in decoder.feed(data)] == [None] * 3
    decoder.cut_receipts()
    run, pong = decoder.feed(data)
    assert pong.receipts is None
    assert run.receipts == ReceiptRun(3, [4, 5], [6, 7])
    assert decoder.feed(data[:20]) == []
    assert decoder.feed(data[20:])[0].receipts == run.receipts
