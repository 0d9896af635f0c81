import google_crc32c
import pytest
from unit.inner.builds import both_builds

ENTRIES = [b"a", b"", b"ccc"]
LENGTHS = [1, 0, 3]
CHECKSUMS = [google_crc32c.value(entry) for entry in ENTRIES]


@both_builds
def test_entries_are_cut_from_a_position_on(loops):
    assert loops.cut_entries(b"xxaccc", 2, LENGTHS, CHECKSUMS) == ENTRIES


@both_builds
def test_cutting_ends_before_what_is_damaged_or_not_all_there(loops):
    assert loops.cut_entries(b"xbbb", 0, LENGTHS, CHECKSUMS) == []
    assert loops.cut_entries(b"accd", 0, LENGTHS, CHECKSUMS) == ENTRIES[:2]
    assert loops.cut_entries(b"acc", 0, LENGTHS, CHECKSUMS) == ENTRIES[:2]
    assert loops.cut_entries(b"accc", 0, [1, 2**64 - 1], CHECKSUMS[:2]) == ENTRIES[:1]


@both_builds
def test_every_entry_has_a_checksum(loops):
    with pytest.raises(ValueError, match=r"length|short"):
        loops.cut_entries(b"accc", 0, LENGTHS, CHECKSUMS[:2])
