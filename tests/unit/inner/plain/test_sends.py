"""inner/plain/sends.py: runs of plain sends, and where they end."""

import pytest
from google_crc32c import value as crc32c
from unit.inner.builds import both_builds
from unit.inner.plain import test_traits as entries
from unit.wire.sending import CHECKSUM, framed, send_frame

from magnetar.inner.plain.sends import RUNS_MAX
from magnetar.message.send_run import SendRun
from magnetar.model.varint import varint
from magnetar.wire import requests
from magnetar.wire.commands import CommandSend, serialize

LARGE = 1 << 24

pytestmark = both_builds


def cut_all(loops, data, position=0, size_max=LARGE):
    end, runs = loops.cut_sends(data, position, size_max)
    return [SendRun(*run) for run in runs], end


def cut(loops, data, position=0, size_max=LARGE):
    """The run of the only producer, or None."""
    runs, end = cut_all(loops, data, position, size_max)
    assert len(runs) <= 1
    return (runs[0] if runs else None), end


def many(count, *, producer_id=1, first=0, size=30, **fields):
    entries = [bytes([index % 251]) * size for index in range(count)]
    frames = [
        send_frame(producer_id, first + index, entry, **fields)
        for index, entry in enumerate(entries)
    ]
    return frames, entries


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 100, 300, 1000])
def test_sends_of_one_producer_are_one_run(loops, count):
    frames, entries = many(count, producer_id=5)
    data = b"".join(frames)
    run, end = cut(loops, data)
    assert end == len(data)
    assert run.producer_id == 5
    assert run.data == entries
    assert run.sequences == list(range(count))
    assert run.checksums == [crc32c(entry) for entry in entries]
    assert run.message_counts == [1] * count
    assert run.highest == [0] * count


def test_a_run_goes_on_over_entries_of_all_sizes(loops):
    frames, entries = [], []
    for index in range(200):
        entries.append(bytes([index]) * (20 + index % 3 * (index > 100)))
        frames.append(send_frame(1, index, entries[-1], num_messages=1 + index % 2))
    run, _ = cut(loops, b"".join(frames))
    assert run.data == entries
    assert run.message_counts == [1 + index % 2 for index in range(200)]


def test_batches_keep_count_and_highest_sequence_id(loops):
    frames = [
        send_frame(
            1, 1000 * index, b"entry", num_messages=1000, highest_sequence_id=1000 * index + 999
        )
        for index in range(50)
    ]
    run, _ = cut(loops, b"".join(frames))
    assert run.message_counts == [1000] * 50
    assert run.highest == [1000 * index + 999 for index in range(50)]


def test_a_highest_sequence_id_may_come_late_in_a_run(loops):
    late = send_frame(1, 2, b"entry", highest_sequence_id=9)
    data = send_frame(1, 0, b"entry") + late + send_frame(1, 3, b"entry")
    run, _ = cut(loops, data)
    assert run.highest == [0, 9, 0]


def test_every_producer_has_a_run_of_its_own(loops):
    frames = [send_frame(index % 3, index, b"entry %d" % index) for index in range(300)]
    runs, end = cut_all(loops, b"".join(frames))
    assert end == sum(map(len, frames))
    assert [run.producer_id for run in runs] == [0, 1, 2]
    for run in runs:
        assert run.sequences == list(range(run.producer_id, 300, 3))
        assert run.data == [b"entry %d" % index for index in run.sequences]


def test_producers_with_numbers_far_apart_are_told_apart(loops):
    numbers = [1, 1 + 256, 1 + 512, 2**32, 2**63, 2**64 - 1, 2**64 - 1 - 256]
    frames = [send_frame(number, 9, b"entry %d" % number) for number in numbers * 2]
    runs, _ = cut_all(loops, b"".join(frames))
    assert [run.producer_id for run in runs] == numbers
    assert [run.data for run in runs] == [[b"entry %d" % number] * 2 for number in numbers]


def test_there_are_only_so_many_runs(loops):
    frames = [send_frame(number, 9, b"entry") for number in range(RUNS_MAX + 5)]
    runs, end = cut_all(loops, b"".join(frames))
    assert [run.producer_id for run in runs] == list(range(RUNS_MAX))
    assert end == sum(map(len, frames[:RUNS_MAX]))


ODD = {
    "a chunk": send_frame(1, 9, b"entry", is_chunk=True),
    "a marker": send_frame(1, 9, b"entry", marker=True),
    "in half a transaction": send_frame(1, 9, b"entry", txnid_least_bits=1),
    "without a checksum": send_frame(1, 9, b"entry", checksum=False),
    "with a wrong checksum": send_frame(1, 9, b"entry")[:-1] + b"Y",
    "with broker metadata": framed(
        serialize(CommandSend(producer_id=1, sequence_id=9)), b"\x0e\x02\0\0\0\0entry"
    ),
    "with nothing behind it": framed(serialize(CommandSend(producer_id=1, sequence_id=9))),
    "with an empty entry": send_frame(1, 9, b""),
    "of another order": framed(b"\x08\x06\x32\x04\x10\x09\x08\x01", CHECKSUM + b"\0\0\0\0entry"),
    "with a number of more than 64 bits": framed(
        b"\x08\x06\x32\x0d\x08\x01\x10" + b"\x89" * 9 + b"\x02",
        CHECKSUM + crc32c(b"entry").to_bytes(4) + b"entry",
    ),
    "with a number that does not end": framed(
        b"\x08\x06\x32\x04\x08\x01\x10\x89", CHECKSUM + crc32c(b"entry").to_bytes(4) + b"entry"
    ),
    "with a size that is none": framed(
        b"\x08\x06\x32\x05\x08\x01\x10\x09", CHECKSUM + crc32c(b"entry").to_bytes(4) + b"entry"
    ),
    "of minus one message": send_frame(1, 9, b"entry", num_messages=-1),
    "not a send": requests.flow(1, 1000) + bytes(24),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("before", [0, 3, 20])
def test_what_is_not_plain_is_left(loops, name, before):
    frames, entries = many(before)
    data = b"".join(frames) + ODD[name] + b"".join(many(20)[0])
    run, end = cut(loops, data)
    assert end == sum(map(len, frames))
    assert (run.data if run else []) == entries


@pytest.mark.parametrize("before", [0, 3, 20])
def test_an_incomplete_frame_is_left(loops, before):
    frames, entries = many(before)
    next_frame = send_frame(1, before, b"x" * 30)
    for size in (0, 3, 8, 20, len(next_frame) - 1):
        run, end = cut(loops, b"".join(frames) + next_frame[:size])
        assert end == sum(map(len, frames))
        assert (run.data if run else []) == entries


def test_a_frame_beyond_the_limit_is_left(loops):
    frames, entries = many(10, size=50)
    data = b"".join(frames) + send_frame(1, 10, b"x" * 90)
    run, end = cut(loops, data, 0, 100)
    assert (run.data, end) == (entries, sum(map(len, frames)))


@pytest.mark.parametrize("bad", [0, 1, 10, 299])
def test_a_run_ends_before_a_wrong_checksum(loops, bad):
    frames, entries = many(300)
    frames[bad] = frames[bad][:-1] + b"\xff"
    run, end = cut(loops, b"".join(frames))
    assert (run.data if run else []) == entries[:bad]
    assert end == sum(map(len, frames[:bad]))


@pytest.mark.parametrize("sequence", [b"\x05\x18", b"\x85\x86"])
def test_a_run_ends_where_a_sequence_id_is_none(loops, sequence):
    frames, entries = many(40, first=300)
    good = varint(320)
    assert frames[20].count(b"\x10" + good) == 1
    frames[20] = frames[20].replace(b"\x10" + good, b"\x10" + sequence)
    run, end = cut(loops, b"".join(frames))
    assert (run.data, end) == (entries[:20], sum(map(len, frames[:20])))


def test_what_looks_like_a_send_inside_an_entry_is_none(loops):
    inner = send_frame(1, 3, b"x" * 30)
    frames = [send_frame(1, index, inner * 4) for index in range(20)]
    run, _ = cut(loops, b"".join(frames))
    assert run.data == [inner * 4] * 20


def test_a_sequence_id_that_grows_by_a_byte_does_not_end_the_run(loops):
    for first in (120, 16_300, 2_097_100, 2**63 - 150):
        frames, entries = many(140, first=first)
        run, _ = cut(loops, b"".join(frames))
        assert run.data == entries
        assert run.sequences == list(range(first, first + 140))


def test_it_begins_where_it_is_told(loops):
    frames, entries = many(30)
    head = b"anything before"
    run, end = cut(loops, head + b"".join(frames), len(head))
    assert (run.data, end) == (entries, len(head) + sum(map(len, frames)))


@pytest.mark.parametrize("size", range(2, 11))
def test_numbers_may_have_any_form(loops, size):
    number = b"\x85" + b"\x80" * (size - 2) + b"\x00"
    command = b"\x08\x06\x32%c\x08%b\x10%b\x18%b\x30%b" % (4 + 4 * size, *[number] * 4)
    frame = framed(command, CHECKSUM + crc32c(b"entry").to_bytes(4) + b"entry")
    run, end = cut(loops, frame * 3)
    assert end == 3 * len(frame)
    assert run == SendRun.of(5, [5] * 3, [b"entry"] * 3, run.checksums, [5] * 3, [5] * 3)


def test_a_run_says_how_much_is_in_it(loops):
    frames = [
        send_frame(1, 0, entries.USUAL["alone"], num_messages=3),
        send_frame(1, 1, entries.USUAL["with a key"]),
    ]
    run, _ = cut(loops, b"".join(frames))
    size = len(entries.USUAL["alone"]) + len(entries.USUAL["with a key"])
    assert (run.size_bytes, run.message_count, run.usual) == (size, 4, True)


@pytest.mark.parametrize("name", ["delayed", "a marker", "a chunk", "empty"])
def test_a_run_says_whether_all_in_it_is_usual(loops, name):
    other = entries.ODD[name] or b"x"
    run, _ = cut(loops, send_frame(1, 0, entries.USUAL["alone"]) + send_frame(1, 1, other))
    assert (len(run), run.usual) == (2, False)
    run, _ = cut(loops, send_frame(1, 0, entries.USUAL["alone"], num_messages=0))
    assert not run.usual


def in_transaction(most, least, sequence_id=0, *, producer_id=1, entry=None):
    fields = {"txnid_most_bits": most, "txnid_least_bits": least}
    whole = entries.entry(**fields) if entry is None else entry
    return send_frame(producer_id, sequence_id, whole, **fields)


def test_a_run_is_of_one_transaction_or_of_none(loops):
    steps = [None, (0, 7), (0, 7), (0, 8), (2**40, 7), None, (0, 7)]
    frames = [
        send_frame(1, index, b"x") if step is None else in_transaction(*step, index)
        for index, step in enumerate(steps)
    ]
    runs, end = cut_all(loops, b"".join(frames))
    assert end == sum(map(len, frames))
    assert [(run.transaction, run.sequences) for run in runs] == [
        (None, [0]), ((0, 7), [1, 2]), ((0, 8), [3]), ((2**40, 7), [4]), (None, [5]), ((0, 7), [6]),
    ]  # fmt: skip


def test_transactions_of_several_producers_do_not_part_each_others_runs(loops):
    frames = [in_transaction(0, step % 2, step, producer_id=step % 2) for step in range(10)]
    runs, _ = cut_all(loops, b"".join(frames))
    assert [(run.producer_id, run.transaction) for run in runs] == [(0, (0, 0)), (1, (0, 1))]


def test_runs_of_many_transactions_are_only_so_many(loops):
    frames = [in_transaction(0, number, number) for number in range(RUNS_MAX + 5)]
    runs, end = cut_all(loops, b"".join(frames))
    assert [run.transaction for run in runs] == [(0, number) for number in range(RUNS_MAX)]
    assert end == sum(map(len, frames[:RUNS_MAX]))


@pytest.mark.parametrize("least", [0, 1, 300, 2**64 - 1])
def test_an_entry_that_names_its_transaction_is_usual(loops, least):
    run, _ = cut(loops, in_transaction(3, least) * 2)
    assert (run.transaction, run.usual) == ((3, least), True)


@pytest.mark.parametrize(
    "entry",
    [
        entries.USUAL["alone"],
        entries.entry(txnid_most_bits=3, txnid_least_bits=8),
        entries.entry(txnid_most_bits=4, txnid_least_bits=7),
        entries.entry(txnid_least_bits=7),
        entries.entry(txnid_most_bits=3, txnid_least_bits=7, deliver_at_time=5),
    ],
)
def test_an_entry_that_names_another_transaction_or_more_is_not(loops, entry):
    run, _ = cut(loops, in_transaction(3, 7, entry=entry))
    assert (run.transaction, run.usual) == ((3, 7), False)


def test_an_entry_that_names_a_transaction_its_command_does_not_is_not_usual(loops):
    run, _ = cut(loops, send_frame(1, 0, entries.USUAL["of a transaction"]))
    assert (run.transaction, run.usual) == (None, False)


def test_what_makes_no_sense_is_refused(loops):
    for arguments in [(b"", 1, 9), (b"", -1, 9), (b"", 0, -1)]:
        with pytest.raises(ValueError, match=r"position|size"):
            loops.cut_sends(*arguments)
    with pytest.raises(TypeError):
        loops.cut_sends(b"", 0)
