"""Arrays of Arrow made of buffers: what a file of history and a read of Spark have in common."""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from magnetar.message.keys import decoded_key

Numbers = np.ndarray[Any, np.dtype[Any]]
TIME_MS_MAX: Final = 253_402_300_799_999
"""The end of the year 9999. A sender may write any time; beyond this it is null."""


class RowBuffers:
    """The buffers of the columns of some rows, which ``columns`` made; taken in their order."""

    def __init__(self, count: int, buffers: Iterable[object]) -> None:
        self.count = count
        self._buffers = map(pa.py_buffer, buffers)

    def places(self) -> pa.Buffer:
        return next(self._buffers)

    def bits(self) -> Numbers:
        """The next buffer: one truth for each row."""
        packed = np.frombuffer(next(self._buffers), np.uint8)
        bits: Numbers = np.unpackbits(packed, count=self.count, bitorder="little").view(np.bool_)
        return bits

    def numbers(self) -> Numbers:
        return np.frombuffer(next(self._buffers), np.uint64)

    def binary(self, kind: pa.DataType, count: int, valid: Numbers | None = None) -> pa.Array:
        """The next two buffers: where the bytes of each of ``count`` rows are, and the bytes."""
        places, data = next(self._buffers), next(self._buffers)
        return pa.Array.from_buffers(kind, count, [bitmap(valid), places, data])

    def keys(self, kind: pa.DataType) -> pa.Array:
        """The keys, as their senders had them; null where there is none."""
        valid, base64 = self.bits(), self.bits()
        keys = self.binary(kind, self.count, valid)
        if not base64.any():
            return keys
        both = zip(keys.to_pylist(), base64.tolist(), strict=True)
        return pa.array([decoded_key(key) if key and coded else key for key, coded in both], kind)

    def event_times(self, kind: pa.DataType) -> pa.Array:
        """The times of the events; null where there is none, or none that Arrow can show."""
        valid, times_ms = self.bits(), self.numbers()
        valid &= times_ms <= TIME_MS_MAX
        return number_array(np.where(valid, times_ms, 0).astype(np.int64) * 1000, kind, valid)

    def properties(self, kind: pa.DataType) -> pa.Array:
        """The properties of messages, as maps of text."""
        places = self.places()
        count = int(np.frombuffer(places, np.int32)[-1])
        names, texts = (text_array(self.binary(pa.binary(), count)) for _ in range(2))
        pairs = pa.StructArray.from_arrays([names, texts], fields=[kind.key_field, kind.item_field])
        return pa.Array.from_buffers(kind, self.count, [None, places], children=[pairs])


def number_array(numbers: Numbers, kind: pa.DataType, valid: Numbers | None = None) -> pa.Array:
    """Numbers as a column of a type of that size."""
    data = np.ascontiguousarray(numbers, np.int32 if kind.bit_width == 32 else np.int64)
    return pa.Array.from_buffers(kind, len(data), [bitmap(valid), pa.py_buffer(data)])


def text_array(data: pa.Array) -> pa.Array:
    """As text; what is not UTF-8 is replaced, as in the properties of a message."""
    texts = pa.Array.from_buffers(pa.string(), len(data), data.buffers())
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([each.decode(errors="replace") for each in data.to_pylist()], pa.string())
    return texts


def bitmap(valid: Numbers | None) -> pa.Buffer | None:
    """Which values there are, as Arrow keeps it; None for all."""
    if valid is None or valid.all():
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little"))
