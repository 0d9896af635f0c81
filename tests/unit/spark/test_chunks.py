from types import SimpleNamespace

import pytest

from magnetar.client.consumers.entry import Entry
from magnetar.client.message import Delivery
from magnetar.message.compression import CompressionType, compress
from magnetar.message.metadata import ChunkInfo
from magnetar.model.position import Position
from magnetar.spark import chunks as chunks_module
from magnetar.spark.chunks import CHUNKED_MESSAGES_MAX, NOT_BEGUN, SEEN_MAX, ChunkedMessages


def chunk(entry_id, uuid, index, parts, *, compression=CompressionType.NONE, size=0):
    place = ChunkInfo(uuid, index, len(parts), sum(map(len, parts)))
    metadata = SimpleNamespace(chunk=place, compression=compression, uncompressed_size=size)
    delivery = Delivery("t", Position(1, entry_id), -1, 0, metadata, 0, redelivered=False)
    return Entry(delivery, parts[index])


def test_the_last_chunk_completes_a_message_and_knows_where_all_lie():
    chunks = ChunkedMessages()
    parts = [b"ab", b"cd", b"e"]
    assert chunks.add(chunk(3, "m", 0, parts)) == (None, "")
    assert chunks.add(chunk(5, "m", 1, parts)) == (None, "")
    whole, flaw = chunks.add(chunk(9, "m", 2, parts))
    assert (whole.payload, flaw) == (b"abcde", "")
    assert [place.entry_id for place in whole.delivery.chunks] == [3, 5, 9]


def test_a_message_is_decompressed_when_it_is_whole():
    packed = compress(CompressionType.ZLIB, b"x" * 1000)
    parts = [packed[:5], packed[5:]]
    options = {"compression": CompressionType.ZLIB, "size": 1000}
    chunks = ChunkedMessages()
    chunks.add(chunk(0, "m", 0, parts, **options))
    whole, _ = chunks.add(chunk(1, "m", 1, parts, **options))
    assert whole.payload == b"x" * 1000


@pytest.mark.parametrize("clears", [False, True])
def test_a_last_chunk_says_what_it_lacks(clears):
    chunks = ChunkedMessages()
    if clears:
        chunks.add(chunk(0, "m", 0, [b"a", b"b"]))
        chunks.clear()
    assert chunks.add(chunk(1, "m", 1, [b"a", b"b"])) == (None, NOT_BEGUN)


def test_one_that_lacks_a_chunk_in_the_middle_says_so():
    chunks = ChunkedMessages()
    parts = [b"a", b"b", b"c"]
    chunks.add(chunk(0, "m", 0, parts))
    whole, flaw = chunks.add(chunk(1, "m", 2, parts))
    assert whole is None
    assert "one is missing" in flaw


def test_one_that_is_damaged_says_how():
    chunks = ChunkedMessages()
    chunks.add(chunk(0, "m", 0, [b"a", b"b"], compression=CompressionType.ZLIB, size=9))
    whole, flaw = chunks.add(chunk(1, "m", 1, [b"a", b"b"], compression=CompressionType.ZLIB))
    assert whole is None
    assert flaw not in ("", NOT_BEGUN)


def test_too_many_at_once_are_not_held():
    chunks = ChunkedMessages()
    for number in range(CHUNKED_MESSAGES_MAX + 1):
        chunks.add(chunk(number, f"m{number}", 0, [b"a", b"b"]))
    assert "lie mixed" in chunks.add(chunk(500, "m0", 1, [b"a", b"b"]))[1]
    assert chunks.add(chunk(501, "m1", 1, [b"a", b"b"]))[0] is not None


def test_one_that_is_too_large_is_not_put_together(monkeypatch):
    monkeypatch.setattr(chunks_module, "CHUNKED_SIZE_MAX", 100)
    packed = compress(CompressionType.ZLIB, b"x" * 1000)
    in_zlib = {"compression": CompressionType.ZLIB, "size": 1000}
    for parts, options in (([b"x" * 50, b"y" * 51], {}), ([packed[:5], packed[5:]], in_zlib)):
        chunks = ChunkedMessages()
        chunks.add(chunk(0, "m", 0, parts, **options))
        whole, flaw = chunks.add(chunk(1, "m", 1, parts, **options))
        assert whole is None
        assert "100 are accepted" in flaw


def test_what_comes_again_after_a_whole_message_is_no_flaw():
    chunks = ChunkedMessages()
    for number in range(SEEN_MAX + 1):
        for index in range(2):
            chunks.add(chunk(2 * number + index, f"m{number}", index, [b"a", b"b"]))
    assert chunks.add(chunk(90_000, "m1", 1, [b"a", b"b"])) == (None, "")
    assert chunks.add(chunk(90_001, "m0", 1, [b"a", b"b"])) == (None, NOT_BEGUN)
