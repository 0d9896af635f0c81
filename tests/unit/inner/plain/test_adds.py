import google_crc32c
import pytest
from unit.inner.builds import both_builds

BEFORE = b"word" + bytes(20)
OK = (2 << 24 | 1 << 16).to_bytes(4) + bytes(4)


def answer(ledger_id, entry_id, head=OK):
    """A bookie's answer to an add."""
    return (
        (24).to_bytes(4) + head + ledger_id.to_bytes(8) + entry_id.to_bytes(8, "big", signed=True)
    )


@both_builds
def test_an_add_is_a_head_a_digest_of_head_and_payload_and_the_payload(loops):
    (frames,) = loops.add_frames(BEFORE, 5, 7, -1, 100, [b"hello", b"!"], None)
    size = int.from_bytes(frames[:4])
    first, second = frames[4 : 4 + size], frames[4 + size :]
    assert size == len(BEFORE) + 32 + 4 + 5
    head = (5).to_bytes(8) + (7).to_bytes(8) + b"\xff" * 8 + (105).to_bytes(8)
    digest = google_crc32c.value(head + b"hello").to_bytes(4)
    assert first == BEFORE + head + digest + b"hello"
    assert second[4 + len(BEFORE) + 8 :].startswith(
        (8).to_bytes(8) + b"\xff" * 8 + (106).to_bytes(8)
    )


@both_builds
def test_a_message_has_its_checksum_before_it_and_the_digest_covers_that(loops):
    (with_sums,) = loops.add_frames(BEFORE, 5, 0, -1, 0, [b"a", b"bc"], [1, 2**32 - 1])
    (whole,) = loops.add_frames(
        BEFORE, 5, 0, -1, 0, [b"\x0e\x01\0\0\0\x01a", b"\x0e\x01\xff\xff\xff\xffbc"], None
    )
    assert with_sums == whole
    with pytest.raises(ValueError, match="lengths"):
        loops.add_frames(BEFORE, 5, 0, -1, 0, [b"a"], [])


@both_builds
def test_small_entries_are_joined_and_large_ones_handed_out_as_they_are(loops):
    large = bytes(10_000)
    pieces = loops.add_frames(BEFORE, 5, 0, -1, 0, [large, b"b"], None)
    assert pieces[1] is large
    assert pieces[3] == b"b"
    assert loops.add_frames(BEFORE, 5, 0, -1, 0, [], None) == []


@both_builds
def test_answers_become_ranges_of_consecutive_entries(loops):
    data = b"".join(answer(5, entry) for entry in (1, 2, 3, 5)) + answer(6, 6) + answer(6, 7)
    assert loops.cut_added(data, 0) == ([5, 1, 3, 5, 5, 5, 6, 6, 7], len(data))
    assert loops.cut_added(data, 28) == ([5, 2, 3, 5, 5, 5, 6, 6, 7], len(data))
    assert loops.cut_added(data[:-1], 0) == ([5, 1, 3, 5, 5, 5, 6, 6, 6], len(data) - 28)


@both_builds
@pytest.mark.parametrize(
    "other", [answer(5, 2, OK[:4] + (104).to_bytes(4)), b"\0\0\0\x19" + answer(5, 2)[4:] + b"x"]
)
def test_cutting_answers_ends_before_one_of_another_kind(loops, other):
    assert loops.cut_added(answer(5, 1) + other + answer(5, 3), 0) == ([5, 1, 1], 28)


def stored(loops, data, checksums=None, first=7):
    """Entries as a bookie has them."""
    return [
        b"".join(
            loops.add_frames(b"", 5, first + at, -1, 0, [each], checksums and [checksums[at]])
        )[4:]
        for at, each in enumerate(data)
    ]


@both_builds
@pytest.mark.parametrize("checksums", [None, [1, 2, 3]])
def test_stored_entries_are_opened_from_a_position_on(loops, checksums):
    data = [b"a", b"", b"ccc"]
    entries = stored(loops, data, checksums)
    sums = [google_crc32c.value(each) for each in data]
    messages = checksums is not None
    assert loops.open_stored(entries, 0, 5, 7, messages) == (data, sums)
    assert loops.open_stored(entries, 1, 5, 8, messages) == (data[1:], sums[1:])
    assert loops.open_stored(entries, 3, 5, 10, messages) == ([], [])
    with pytest.raises(ValueError, match="position"):
        loops.open_stored(entries, 4, 5, 11, messages)


@both_builds
def test_opening_ends_before_another_entry_a_damaged_one_and_an_unusual_message(loops):
    entries = stored(loops, [b"a", b"b"])
    damaged = entries[1][:-1] + b"x"
    for other in (entries[0], damaged, b"", stored(loops, [b"b"], first=9)[0]):
        assert loops.open_stored([entries[0], other], 0, 5, 7, False)[0] == [b"a"]
    assert loops.open_stored(entries, 0, 6, 7, False)[0] == []
    assert loops.open_stored(entries, 0, 5, 7, True)[0] == []
