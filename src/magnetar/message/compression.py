"""How a payload is compressed: one table. Pure.

The formats are those of Pulsar's clients: LZ4 and Snappy as bare blocks, ZLIB and ZSTD as streams.
"""

import zlib
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

import cramjam

from magnetar.errors import CorruptEntry, MessageTooLarge


class CompressionType(IntEnum):
    """The numbers are those on the wire."""

    NONE = 0
    LZ4 = 1
    ZLIB = 2
    ZSTD = 3
    SNAPPY = 4


class _Codec(NamedTuple):
    compress: Callable[[bytes], bytes]
    # Into a buffer of the original's size; how much of it was filled. A payload that would need
    # more fails instead of growing it.
    decompress_into: Callable[[bytes, bytearray], int]


def compress(kind: CompressionType, data: bytes) -> bytes:
    return data if kind == CompressionType.NONE else _CODECS[kind].compress(data)


def decompress(
    kind: int, data: bytes | memoryview, uncompressed_size: int, *, size_max: int
) -> bytes:
    """The original, whose size the metadata tells. Without compression the size is not looked at.

    Raises CorruptEntry, also for a ``kind`` that nobody knows, and MessageTooLarge when the
    original would be larger than ``size_max``; no more memory than that is used.
    """
    if kind == CompressionType.NONE:
        return bytes(data)
    if kind not in _CODECS:
        raise CorruptEntry(f"compressed by method {kind}, which is none of {[*CompressionType]}")
    name = CompressionType(kind).name
    if uncompressed_size > size_max:
        raise MessageTooLarge(
            f"a payload of {uncompressed_size} bytes behind {name}; at most {size_max} are accepted"
        )
    original = bytearray(uncompressed_size)
    try:
        size = _CODECS[CompressionType(kind)].decompress_into(bytes(data), original)
    except (cramjam.DecompressionError, zlib.error, ValueError) as error:
        raise CorruptEntry(f"a payload that is not {name}, or is cut off: {error}") from error
    if size != uncompressed_size:
        raise CorruptEntry(f"{size} bytes behind {name} instead of {uncompressed_size}")
    return bytes(original)


def _lz4(data: bytes) -> bytes:
    return bytes(cramjam.lz4.compress_block(data, store_size=False))


def _lz4_into(data: bytes, original: bytearray) -> int:
    return int(cramjam.lz4.decompress_block_into(data, original, output_len=len(original)))


def _zstd(data: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(data, level=3))


def _snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def _zlib_into(data: bytes, original: bytearray) -> int:
    stream = zlib.decompressobj()
    found = stream.decompress(data, len(original) + 1)
    if len(found) > len(original):
        raise ValueError("more bytes than announced")
    if not stream.eof:
        raise ValueError("the stream does not end")
    original[: len(found)] = found
    return len(found)


_CODECS = {
    CompressionType.LZ4: _Codec(_lz4, _lz4_into),
    CompressionType.ZLIB: _Codec(zlib.compress, _zlib_into),
    CompressionType.ZSTD: _Codec(_zstd, cramjam.zstd.decompress_into),
    CompressionType.SNAPPY: _Codec(_snappy, cramjam.snappy.decompress_raw_into),
}
