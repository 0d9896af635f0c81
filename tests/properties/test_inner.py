"""Both builds of the inner loops make the same of the same, whatever it is."""

import os
from array import array
from typing import NamedTuple

import google_crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from properties.test_message_entries import batches, singles
from properties.test_wire_acks import streams as acks
from properties.test_wire_frames import damaged, streams
from support.heads import head_of
from unit.inner.builds import compiled, needs_compiled
from unit.message.test_entry_traits import ENTRIES

from magnetar.inner.plain import loops as plain
from magnetar.inner.record import COVERED_FROM, HEAD_SIZE, TABLES_SIZE

pytestmark = [needs_compiled, pytest.mark.timeout(600)]

SALT = b"a salt.."
EXAMPLES = int(os.environ.get("EXAMPLES", "32"))  # ``make fuzz`` tries more.


class Row(NamedTuple):
    """As the client's messages are."""

    owner: object
    index: int
    head: bytes
    body: bytes


NUMBERS = st.integers(0, 300) | st.integers(0, 2**64 - 1)
SIZES_MAX = st.just(1 << 24) | st.integers(0, 120)
lists_of_bytes = st.lists(st.binary(max_size=40), max_size=20)


def same(name, *arguments):
    """The result of both, or the kind of exception."""
    results = []
    for build in (plain, compiled):
        try:
            results.append(getattr(build, name)(*arguments))
        except (ValueError, TypeError, IndexError) as error:
            results.append(type(error))
    assert results[0] == results[1]


@st.composite
def mutated(draw, whole):
    """Bytes with some of them changed, taken out, or put in."""
    data = draw(whole)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.binary(max_size=3)) + data[at + draw(st.integers(0, 3)) :]
    return data


@given(st.tuples(NUMBERS, st.integers(0, 2**63)), lists_of_bytes, st.data())
def test_send_frames(ids, data, draw):
    count = len(data)
    numbers = st.lists(st.integers(0, 2**32 - 1), min_size=count, max_size=count)
    same("send_frames", *ids, data, draw.draw(numbers), draw.draw(numbers))
    large = [each + bytes(draw.draw(st.sampled_from([0, 5000]))) for each in data]
    same("send_frames", *ids, large, draw.draw(numbers), draw.draw(numbers))


@settings(max_examples=EXAMPLES)
@given(
    st.lists(mutated(ENTRIES) | st.binary(max_size=60), min_size=4),
    st.integers(0, 4),
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**40),
    st.sampled_from([b"", bytes(8), b"\0\0\0\0\0\0\0\1"]),
)
def test_copies_for_another_cluster(data, start, ledger_id, first_entry_id, version):
    same("replicas", data, start, ledger_id, first_entry_id, b"west", b"east", version)
    copies = plain.replicas(data, start, ledger_id, first_entry_id, b"west", b"", version)[2]
    same("source_places", copies + data)


SOURCE_VALUES = st.from_regex(rb"[0-9]{1,20}:[0-9]{1,20}", fullmatch=True) | st.binary(max_size=8)
SOURCE_PAIRS = st.builds(
    lambda value, cut: (
        b"\x0a\x1f__MSG_PROP_REPL_SOURCE_POSITION\x12"[cut:] + bytes([len(value)]) + value
    ),
    SOURCE_VALUES,
    st.sampled_from([0, 0, 0, 1, 2]),
)
METADATA = st.lists(mutated(SOURCE_PAIRS) | st.binary(max_size=6), max_size=4).map(b"".join)


@settings(max_examples=EXAMPLES)
@given(st.lists(st.tuples(METADATA, st.integers(-3, 3)), min_size=4), lists_of_bytes)
def test_where_copies_were_published(pieces, others):
    data = [max(len(each) + more, 0).to_bytes(4) + each for each, more in pieces]
    same("source_places", data + others)


@given(streams | damaged(), SIZES_MAX, st.data())
@settings(max_examples=EXAMPLES)
def test_cut_sends(data, size_max, draw):
    same("cut_sends", data, draw.draw(st.integers(-1, len(data) + 1)), size_max)
    same("cut_sends", data, 0, size_max)


@given(mutated(acks), SIZES_MAX, st.data())
@settings(max_examples=EXAMPLES)
def test_cut_acks(data, size_max, draw):
    same("cut_acks", data, draw.draw(st.integers(-1, len(data) + 1)), size_max)
    same("cut_acks", data, 0, size_max)


RECEIPTS = st.lists(
    st.builds(
        lambda producer, *ids: plain.send_receipts(producer, [ids[0]], [ids[1]], *ids[2:]),
        st.integers(0, 2),
        NUMBERS,
        NUMBERS,
        NUMBERS,
        st.integers(0, 2**63),
    ),
    max_size=6,
).map(b"".join)


@given(mutated(RECEIPTS), SIZES_MAX, st.data())
@settings(max_examples=EXAMPLES)
def test_cut_receipts(data, size_max, draw):
    same("cut_receipts", data, draw.draw(st.integers(-1, len(data) + 1)), size_max)
    same("cut_receipts", data, 0, size_max)


@given(NUMBERS, st.lists(st.tuples(NUMBERS, NUMBERS), max_size=30), NUMBERS, st.integers(0, 2**63))
def test_send_receipts(producer_id, sends, ledger_id, first):
    sequences, highest = [send[0] for send in sends], [send[1] for send in sends]
    same("send_receipts", producer_id, sequences, highest, ledger_id, first)


@given(
    ids=st.tuples(NUMBERS, NUMBERS, st.integers(0, 2**63), st.integers(-1, 300)),
    data=lists_of_bytes,
    draw=st.data(),
)
def test_message_frames(ids, data, draw):
    if draw.draw(st.booleans()) and data:
        data.append(bytes(100_000))
    checksums = [index * 0x1234567 % 2**32 for index in range(len(data))]
    indexes = st.lists(st.integers(0, max(len(data) - 1, 0)), max_size=len(data), unique=True)
    picked = draw.draw(st.none() | indexes)
    count = len(data) if picked is None else len(picked)
    more = draw.draw(st.none() | st.lists(st.binary(max_size=200), min_size=count, max_size=count))
    same("message_frames", *ids, data, checksums, picked, more)


@given(st.lists(mutated(ENTRIES), max_size=10), st.data())
@settings(max_examples=EXAMPLES)
def test_look_into(data, draw):
    counts = st.lists(st.integers(0, 3), min_size=len(data), max_size=len(data))
    same("look_into", data, draw.draw(counts))


@given(lists_of_bytes, st.none() | NUMBERS, st.data())
def test_pack(payloads, first, data):
    same("pack", payloads, first, None)
    some = data.draw(st.lists(st.none() | singles, max_size=len(payloads) + 1))
    said = some + [None] * (len(payloads) - len(some))
    same("pack", payloads, first, said)


@st.composite
def payloads(draw):
    """Messages with all that may be said of them, as one payload."""
    bodies, first, _ = draw(batches())
    pieces = []
    for index, body in enumerate(bodies):
        head = head_of(draw(singles), len(body), first + index)
        pieces += [len(head).to_bytes(4), head, body]
    return b"".join(pieces)


@given(mutated(payloads()) | st.binary(max_size=60), st.integers(0, 70), st.integers(-1, 9))
@settings(max_examples=EXAMPLES)  # Payloads that are not quite wrong are made slowly.
def test_unpack(payload, count, before):
    same("unpack", payload, 0, count)
    same("unpack_as", tuple, None, payload, 0, count)
    same("unpack_as", Row, payload, bytes(max(before, 0)) + payload, before, count)


INDEXES = st.integers(-1, 70)


@given(
    st.lists(st.tuples(mutated(payloads()), st.integers(0, 9), INDEXES, INDEXES), max_size=2),
    st.integers(0, 63),
)
@settings(max_examples=EXAMPLES // 4)  # Of payloads that are made slowly.
def test_columns(parts, wanted):
    same("columns", *([part[place] for part in parts] for place in range(4)), wanted)


values = st.none() | NUMBERS | st.binary(max_size=300) | st.lists(st.binary(max_size=9), max_size=3)


@given(st.lists(st.tuples(st.integers(1, 2**14), values), max_size=12))
def test_write_fields(pairs):
    same("write_fields", [tag for tag, _ in pairs], [value for _, value in pairs])


@given(st.binary(max_size=5000))
def test_checksum(data):
    same("checksum", data)


@given(
    numbers=st.tuples(*[st.integers(0, 2**63 - 1)] * 3),
    data=lists_of_bytes | st.lists(st.sampled_from([b"", bytes(600), bytes(70_000)]), max_size=5),
    draw=st.data(),
)
def test_encode_block(numbers, data, draw):
    sums = st.lists(st.integers(0, 2**32 - 1), min_size=len(data), max_size=len(data) + 1)
    same("encode_block", SALT, 7, *numbers, data, draw.draw(sums))


@st.composite
def logs(draw):
    """Records of all kinds, one behind the other."""
    pieces = []
    for _ in range(draw(st.integers(0, 8))):
        data = draw(lists_of_bytes | st.sampled_from([[bytes(600)], [bytes(600), b"", bytes(999)]]))
        numbers = draw(st.tuples(st.integers(0, 300), st.integers(0, 3), NUMBERS))
        record = b"".join(
            plain.encode_block(SALT, 7, *numbers, data, [google_crc32c.value(e) for e in data])
        )
        if draw(st.integers(0, 4)) == 0:  # Of another kind, or with flags that nobody knows.
            tables = HEAD_SIZE + TABLES_SIZE * len(data)
            covered = draw(st.binary(min_size=2, max_size=2)) + record[COVERED_FROM + 2 : tables]
            head = SALT + google_crc32c.extend(7, covered).to_bytes(4, "little") + covered
            record = head + record[tables:]
        pieces.append(record)
    return b"".join(pieces)


@given(mutated(logs()), st.integers(0, 2**64 - 2**37), st.booleans(), st.data())
@settings(max_examples=EXAMPLES * 2)
def test_cut_records(data, place, verify_bodies, draw):
    place = draw.draw(st.sampled_from([place, place | 2**36 - 1, 2**36]))
    position = draw.draw(st.just(0) | st.integers(-1, len(data) + 1))
    end = draw.draw(st.just(len(data)) | st.integers(-1, len(data) + 2000))
    same("cut_records", data, position, end, place, SALT, 7, verify_bodies)
    same("cut_records", data[: len(data) // 2], 0, len(data), place, SALT, 7, verify_bodies)


@given(
    before=st.binary(max_size=30),
    numbers=st.tuples(*[st.integers(-1, 2**62)] * 4),
    data=lists_of_bytes | st.lists(st.sampled_from([b"", bytes(600), bytes(70_000)]), max_size=5),
    draw=st.data(),
)
def test_add_frames(before, numbers, data, draw):
    sums = st.lists(st.integers(0, 2**32 - 1), min_size=len(data), max_size=len(data) + 1)
    same("add_frames", before, *numbers, data, draw.draw(st.none() | sums))


@st.composite
def added(draw):
    """A bookie's answers to adds, most of them of entries that follow one another."""
    pieces = []
    for _ in range(draw(st.integers(0, 6))):
        ledger = draw(st.sampled_from([1, 2, 2**64 - 1]))
        first = draw(st.sampled_from([0, 7, 2**63 - 2, 2**64 - 2]))
        for entry in range(first, first + draw(st.integers(0, 4))):
            numbers = ledger.to_bytes(8) + (entry % 2**64).to_bytes(8)
            pieces.append(b"\0\0\0\x18\2\1\0\0\0\0\0\0" + numbers)
    return b"".join(pieces)


@given(mutated(added()), st.data())
@settings(max_examples=EXAMPLES)
def test_cut_added(data, draw):
    same("cut_added", data, draw.draw(st.integers(-1, len(data) + 1)))
    same("cut_added", data, 0)


@given(
    numbers=st.tuples(st.sampled_from([0, 5, 2**62]), st.sampled_from([0, 7, 2**62])),
    data=lists_of_bytes,
    messages=st.booleans(),
    draw=st.data(),
)
@settings(max_examples=EXAMPLES)
def test_open_stored(numbers, data, messages, draw):
    ledger, first = numbers
    sums = [0] * len(data) if draw.draw(st.booleans()) else None
    stored = [
        draw.draw(mutated(st.just(b"".join(frames)[4:])))
        for frames in (
            plain.add_frames(b"", ledger, first + at, -1, 0, [each], sums and sums[:1])
            for at, each in enumerate(data)
        )
    ]
    same("open_stored", stored, 0, ledger, first, messages)
    at = draw.draw(st.integers(-1, len(data) + 1))
    same("open_stored", stored, at, ledger, first + at, messages)


@given(lists_of_bytes, st.integers(-1, 3), st.integers(0, 60), st.data())
def test_cut_entries(entries, position, missing, draw):
    lengths = [len(entry) for entry in entries]
    checksums = [google_crc32c.value(entry) for entry in entries]
    data = b"".join(entries)
    same("cut_entries", bytes(max(position, 0)) + data, position, lengths, checksums)
    damaged = draw.draw(mutated(st.just(data)))
    same("cut_entries", damaged[: max(len(damaged) - missing, 0)], 0, lengths, checksums)
    others = draw.draw(st.lists(st.integers(0, 2**64 - 1), max_size=len(lengths)))
    same("cut_entries", data, 0, lengths, others + checksums[len(others) :])
    same("cut_entries", data, 0, lengths[len(others) :] + others, checksums)
    same("cut_entries", data, 0, lengths, others)


@st.composite
def strings(draw, rows):
    """A column of so many rows of bytes or text, as Arrow has it."""
    first = draw(st.integers(0, 9))
    content = st.binary(max_size=9) | st.text(max_size=4).map(str.encode)
    data = draw(st.lists(content, min_size=first + rows, max_size=first + rows))
    bits = draw(st.none() | st.binary(min_size=20, max_size=20))
    ends = [sum(map(len, data[:at])) for at in range(len(data) + 1)]
    return first, bits, array("i", ends).tobytes(), b"".join(data)


@st.composite
def row_columns(draw):
    rows = draw(st.integers(0, 20))
    bits = st.none() | st.binary(min_size=3, max_size=3)
    times = array("q", draw(st.lists(st.integers(0, 2**62), min_size=rows, max_size=rows)))
    per_row = draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows))
    pairs = sum(per_row)
    ends = array("i", [sum(per_row[:at]) for at in range(rows + 1)]).tobytes()
    properties = (0, draw(bits), ends, draw(strings(pairs)), draw(strings(pairs)))
    columns = (
        draw(strings(rows)),
        draw(st.none() | strings(rows)),
        draw(st.none() | strings(rows)),
        draw(st.none() | st.just((0, draw(bits), times.tobytes()))),
        draw(st.none() | st.just(properties)),
    )
    indexes = st.lists(st.integers(0, max(rows - 1, 0)), max_size=rows)
    picked = draw(st.just(rows) | indexes.map(lambda some: array("i", some).tobytes()))
    return columns, picked


@given(row_columns(), NUMBERS, st.data())
@settings(max_examples=EXAMPLES)
def test_rows(given_rows, number, data):
    columns, picked = given_rows
    some = st.integers(0, 12)
    same("cut_rows", columns, picked, data.draw(some), data.draw(some))
    count = picked if isinstance(picked, int) else len(picked) // 4
    same("pack_rows", columns, picked, 0, count, number)
    same("pack_rows", columns, picked, data.draw(some), data.draw(some), number)
    same("share_rows", columns[1], picked, data.draw(some), data.draw(some), data.draw(some))


@given(row_columns(), st.data())
@settings(max_examples=EXAMPLES)
def test_rows_of_damaged_columns(given_rows, data):
    """What ends too soon, or has other places, is refused by both or read alike."""
    (value, key, *others), picked = given_rows
    place = data.draw(st.integers(0, 3))
    damaged = list(value)
    damaged[place] = data.draw(st.integers(0, 40) if place == 0 else st.binary(max_size=90))
    columns = (tuple(damaged), key, *others)
    same("cut_rows", columns, picked, 5, 50)
    same("pack_rows", columns, picked, 0, data.draw(st.integers(0, 20)), 0)
    same("share_rows", tuple(damaged), picked, 3, 0, 2)
