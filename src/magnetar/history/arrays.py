"""Arrays of Arrow made of buffers: what a file of history and a read of Spark have in common."""

from typing import Any

import numpy as np
import pyarrow as pa

Numbers = np.ndarray[Any, np.dtype[Any]]


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
