"""message/compression.py: every method, and what must not come out of it."""

import zlib

import cramjam
import pytest

from magnetar.errors import CorruptEntry, MessageTooLarge
from magnetar.message.compression import CompressionType, compress, decompress
from magnetar.proto import PulsarApi_pb2 as pb

TEXT = b"to be or not to be, that is the question. " * 50
REAL = [kind for kind in CompressionType if kind is not CompressionType.NONE]


@pytest.mark.parametrize("kind", CompressionType)
@pytest.mark.parametrize("data", [b"", b"x", TEXT, bytes(100_000), bytes(range(256))])
def test_there_and_back(kind, data):
    packed = compress(kind, data)
    assert decompress(kind, packed, len(data), size_max=100_000) == data
    assert decompress(kind, memoryview(packed), len(data), size_max=100_000) == data


@pytest.mark.parametrize("kind", REAL)
def test_it_becomes_smaller(kind):
    assert len(compress(kind, TEXT)) < len(TEXT) / 5


def test_the_formats_are_pulsars():
    lz4 = compress(CompressionType.LZ4, TEXT)
    assert bytes(cramjam.lz4.decompress_block(lz4, output_len=len(TEXT))) == TEXT
    assert zlib.decompress(compress(CompressionType.ZLIB, TEXT)) == TEXT
    assert bytes(cramjam.zstd.decompress(compress(CompressionType.ZSTD, TEXT))) == TEXT
    snappy = compress(CompressionType.SNAPPY, TEXT)
    assert bytes(cramjam.snappy.decompress_raw(snappy)) == TEXT


def test_the_numbers_are_those_on_the_wire():
    assert {kind.name: kind.value for kind in CompressionType} == dict(pb.CompressionType.items())


@pytest.mark.parametrize("kind", REAL)
@pytest.mark.parametrize("wrong", [-1, 1, 1000])
def test_a_size_that_is_not_the_originals_is_corrupt(kind, wrong):
    packed = compress(kind, TEXT)
    with pytest.raises(CorruptEntry, match=kind.name):
        decompress(kind, packed, len(TEXT) + wrong, size_max=100_000)


@pytest.mark.parametrize("kind", REAL)
@pytest.mark.parametrize("keep", [0, 1, 5, -1])
def test_what_was_cut_off_is_corrupt(kind, keep):
    with pytest.raises(CorruptEntry, match=kind.name):
        decompress(kind, compress(kind, TEXT)[:keep], len(TEXT), size_max=100_000)


@pytest.mark.parametrize("kind", REAL)
def test_what_would_be_too_large_is_not_even_tried(kind):
    with pytest.raises(MessageTooLarge, match="at most 1000 are accepted"):
        decompress(kind, b"anything", 1001, size_max=1000)


@pytest.mark.parametrize("kind", REAL)
def test_a_bomb_does_not_go_off(kind):
    bomb = compress(kind, bytes(50_000_000))
    with pytest.raises(CorruptEntry):
        decompress(kind, bomb, 1000, size_max=1_000_000)


def test_a_method_nobody_knows_is_corrupt():
    with pytest.raises(CorruptEntry, match="method 9"):
        decompress(9, b"x", 1, size_max=100)
