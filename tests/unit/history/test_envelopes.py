from array import array

import pytest

from magnetar import inner
from magnetar.errors import CorruptEntry
from magnetar.history.envelopes import SIZE_MAX, EntryMaker, EntryRecipe, Envelopes, Values
from magnetar.message import batch, entry
from magnetar.message.compression import CompressionType, compress

BODIES = [b"alone", b"one", b"", b"three"]
PACKED = batch.pack(BODIES[1:], first_sequence_id=4)
WHOLE = b"anything"
ENTRIES = [
    entry.join(b"said", BODIES[0]),
    WHOLE,
    entry.join(b"of a batch", compress(CompressionType.ZLIB, PACKED)),
]
VALUES = Values(array("i", [0, 5, 8, 8, 13]), memoryview(b"".join(BODIES)))


def envelopes():
    checksums = list(map(inner.checksum, ENTRIES))
    made = Envelopes()
    made.add(EntryRecipe.ONE, b"said", checksum=checksums[0], rows=1)
    made.add(EntryRecipe.WHOLE, WHOLE, checksum=checksums[1], rows=0)
    heads, _ = batch.unpack(PACKED, 3)
    made.add(
        EntryRecipe.BATCH, b"of a batch", checksum=checksums[2], rows=3, compression=2, heads=heads
    )
    return made


def test_entries_are_made_again_byte_for_byte():
    maker = EntryMaker(Envelopes.decode(envelopes().encode()), VALUES)
    assert maker.entries(0, 10, 1_000) == (ENTRIES, list(map(inner.checksum, ENTRIES)))
    assert maker.entries(2, 10, 1_000)[0] == ENTRIES[2:]


def test_no_more_entries_are_made_than_asked_for_and_at_least_one():
    maker = EntryMaker(envelopes(), VALUES)
    assert maker.entries(0, 2, 1_000)[0] == ENTRIES[:2]
    assert maker.entries(0, 10, len(ENTRIES[0]) + 1)[0] == ENTRIES[:2]
    assert maker.entries(1, 10, 0)[0] == ENTRIES[1:2]


def test_a_payload_that_is_compressed_otherwise_has_a_checksum_of_its_own():
    said = envelopes()
    said.checksums[2] ^= 1  # That of an entry which another library compressed.
    data, checksums = EntryMaker(said, VALUES).entries(2, 1, 1_000)
    assert checksums == [inner.checksum(data[0])]


def test_an_entry_that_is_not_what_was_written_is_an_error_and_those_before_it_are_read():
    said = envelopes()
    said.checksums[1] ^= 1
    maker = EntryMaker(said, VALUES)
    assert maker.entries(0, 10, 1_000)[0] == ENTRIES[:1]
    with pytest.raises(CorruptEntry):
        maker.entries(1, 10, 1_000)


@pytest.mark.parametrize("kept", [0, 7, 8, 20])
def test_envelopes_that_are_cut_off_are_an_error(kept):
    with pytest.raises(CorruptEntry):
        Envelopes.decode(envelopes().encode()[:kept])


def test_envelopes_that_tell_of_more_than_there_is_are_an_error():
    lie = array("I", [1_000, 0]).tobytes()
    with pytest.raises(CorruptEntry, match="end too soon"):
        Envelopes.decode(len(lie).to_bytes(8, "little") + compress(CompressionType.ZSTD, lie))


def test_envelopes_that_say_they_are_huge_are_refused():
    with pytest.raises(CorruptEntry, match="at most"):
        Envelopes.decode((SIZE_MAX + 1).to_bytes(8, "little"))
