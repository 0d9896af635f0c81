import numpy as np
import pyarrow as pa
import pytest

from magnetar.history.arrays import bitmap, number_array, text_array


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.timestamp("us")])
def test_numbers_become_a_column_of_their_type(kind):
    made = number_array(np.array([1, 2, 3]), kind, np.array([True, False, True]))
    made.validate(full=True)
    assert (made.type, made.is_valid().to_pylist()) == (kind, [True, False, True])
    assert made.cast(pa.int64() if kind != pa.int32() else kind).to_pylist() == [1, None, 3]


def test_where_all_are_there_nothing_is_kept_of_it():
    assert bitmap(None) is None
    assert bitmap(np.array([True, True])) is None
    assert bitmap(np.array([True, False])).to_pybytes() == b"\x01"


def test_what_is_no_text_is_replaced():
    assert text_array(pa.array([b"a", "ä".encode()])).to_pylist() == ["a", "ä"]
    assert text_array(pa.array([b"a", b"\xff"])).to_pylist() == ["a", "\ufffd"]
