"""wire/sends.py: runs of plain sends, and where they end."""

import pytest
from google_crc32c import value as crc32c
from unit.wire.sending import CHECKSUM, framed, send_frame

from magnetar.message.varint import varint
from magnetar.wire import requests
from magnetar.wire.commands import CommandSend, serialize
from magnetar.wire.sends import cut_sends

LARGE = 1 << 24


def cut(data, position=0, **options):
    return cut_sends(data, position, total_size_max=LARGE, **options)


def many(count, *, producer_id=1, first=0, size=30, **fields):
    entries = [bytes([index % 251]) * size for index in range(count)]
    frames = [
        send_frame(producer_id, first + index, entry, **fields)
        for index, entry in enumerate(entries)
    ]
    return frames, entries


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 100, 300, 1000])
@pytest.mark.parametrize("in_stretches", [True, False])
def test_sends_of_one_producer_are_one_run(count, in_stretches):
    frames, entries = many(count, producer_id=5)
    data = b"".join(frames)
    run, end = cut(data, in_stretches=in_stretches)
    assert end == len(data)
    assert run.producer_id == 5
    assert run.data == entries
    assert run.sequences == [varint(index) for index in range(count)]
    assert run.checksums == [crc32c(entry) for entry in entries]
    assert run.message_counts == [1] * count
    assert run.highest is None


def test_a_run_goes_on_over_entries_of_all_sizes():
    frames, entries = [], []
    for index in range(200):
        entries.append(bytes([index]) * (20 + index % 3 * (index > 100)))
        frames.append(send_frame(1, index, entries[-1], num_messages=1 + index % 2))
    run, _ = cut(b"".join(frames))
    assert run.data == entries
    assert run.message_counts == [1 + index % 2 for index in range(200)]


def test_batches_keep_count_and_highest_sequence_id():
    frames = [
        send_frame(
            1, 1000 * index, b"entry", num_messages=1000, highest_sequence_id=1000 * index + 999
        )
        for index in range(50)
    ]
    run, _ = cut(b"".join(frames))
    assert run.message_counts == [1000] * 50
    assert run.highest == [varint(1000 * index + 999) for index in range(50)]


def test_a_highest_sequence_id_may_come_late_in_a_run():
    late = send_frame(1, 2, b"entry", highest_sequence_id=9)
    data = send_frame(1, 0, b"entry") + late + send_frame(1, 3, b"entry")
    run, _ = cut(data)
    assert run.highest == [b"", b"\x09", b""]


@pytest.mark.parametrize("before", [0, 3, 20])
def test_a_run_ends_at_another_producer(before):
    frames, entries = many(before)
    others, _ = many(12, producer_id=2)
    run, end = cut(b"".join(frames + others))
    if before:
        assert run.data == entries
        assert end == sum(map(len, frames))
    else:
        assert run.producer_id == 2


ODD = {
    "a chunk": send_frame(1, 9, b"entry", is_chunk=True),
    "a marker": send_frame(1, 9, b"entry", marker=True),
    "in a transaction": send_frame(1, 9, b"entry", txnid_least_bits=1, txnid_most_bits=0),
    "without a checksum": send_frame(1, 9, b"entry", checksum=False),
    "with a wrong checksum": send_frame(1, 9, b"entry")[:-1] + b"Y",
    "with broker metadata": framed(
        serialize(CommandSend(producer_id=1, sequence_id=9)), b"\x0e\x02\0\0\0\0entry"
    ),
    "with nothing behind it": framed(serialize(CommandSend(producer_id=1, sequence_id=9))),
    "with an empty entry": send_frame(1, 9, b""),
    "of another order": framed(b"\x08\x06\x32\x04\x10\x09\x08\x01", CHECKSUM + b"\0\0\0\0entry"),
    "in a longer form than needed": framed(
        b"\x08\x06\x32\x05\x08\x01\x10\x89\x00", CHECKSUM + crc32c(b"entry").to_bytes(4) + b"entry"
    ),
    "with a size that is none": framed(
        b"\x08\x06\x32\x05\x08\x01\x10\x09", CHECKSUM + crc32c(b"entry").to_bytes(4) + b"entry"
    ),
    "from a producer of a large number": send_frame(1 << 40, 9, b"entry"),
    "of minus one message": send_frame(1, 9, b"entry", num_messages=-1),
    "not a send": requests.flow(1, 1000) + bytes(24),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("before", [0, 3, 20])
def test_what_is_not_plain_is_left(name, before):
    frames, entries = many(before)
    data = b"".join(frames) + ODD[name] + b"".join(many(20)[0])
    run, end = cut(data)
    assert end == sum(map(len, frames))
    assert (run.data if run else []) == entries


@pytest.mark.parametrize("before", [0, 3, 20])
def test_an_incomplete_frame_is_left(before):
    frames, entries = many(before)
    next_frame = send_frame(1, before, b"x" * 30)
    for size in (0, 3, 8, 20, len(next_frame) - 1):
        run, end = cut(b"".join(frames) + next_frame[:size])
        assert end == sum(map(len, frames))
        assert (run.data if run else []) == entries


def test_a_frame_beyond_the_limit_is_left():
    frames, entries = many(10, size=50)
    data = b"".join(frames) + send_frame(1, 10, b"x" * 90)
    run, end = cut_sends(data, 0, total_size_max=100)
    assert (run.data, end) == (entries, sum(map(len, frames)))


@pytest.mark.parametrize("bad", [0, 1, 10, 299])
def test_a_stretch_ends_before_a_wrong_checksum(bad):
    frames, entries = many(300)
    frames[bad] = frames[bad][:-1] + b"\xff"
    run, end = cut(b"".join(frames))
    assert (run.data if run else []) == entries[:bad]
    assert end == sum(map(len, frames[:bad]))


@pytest.mark.parametrize("sequence", [b"\x05\x18", b"\x85\x00", b"\x85\x86"])
def test_a_stretch_ends_where_a_sequence_id_is_none(sequence):
    frames, entries = many(40, first=300)
    good = varint(320)
    assert frames[20].count(b"\x10" + good) == 1
    frames[20] = frames[20].replace(b"\x10" + good, b"\x10" + sequence)
    run, end = cut(b"".join(frames))
    assert (run.data, end) == (entries[:20], sum(map(len, frames[:20])))


def test_what_looks_like_a_send_inside_an_entry_is_none():
    inner = send_frame(1, 3, b"x" * 30)
    frames = [send_frame(1, index, inner * 4) for index in range(20)]
    run, _ = cut(b"".join(frames))
    assert run.data == [inner * 4] * 20


def test_a_sequence_id_that_grows_by_a_byte_does_not_end_the_run():
    for first in (120, 16_300, 2_097_100, 2**63 - 150):
        frames, entries = many(140, first=first)
        run, _ = cut(b"".join(frames))
        assert run.data == entries
        assert run.sequences == [varint(first + index) for index in range(140)]


def test_it_begins_where_it_is_told():
    frames, entries = many(30)
    head = b"anything before"
    run, end = cut(head + b"".join(frames), len(head))
    assert (run.data, end) == (entries, len(head) + sum(map(len, frames)))
