"""inner/plain/checksum.py: CRC32-C, whatever computes it."""

import random

import pytest
from google_crc32c import value
from unit.inner.builds import both_builds, compiled, needs_compiled


@both_builds
@pytest.mark.parametrize(
    ("data", "checksum"), [(b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA)]
)
def test_known_checksums(loops, data, checksum):
    assert loops.checksum(data) == checksum


@needs_compiled
def test_every_length_has_the_right_one():
    """Up to where the parts that are computed side by side are as large as they get, and on."""
    data = random.Random(7).randbytes(40_000)
    for size in [*range(3500), 6143, 6144, 6145, 9999, len(data)]:
        part = data[size // 3 : size // 3 + size]
        assert compiled.checksum(part) == value(part), size
