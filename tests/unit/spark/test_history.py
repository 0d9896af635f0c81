"""With Spark: tests/spark/test_history.py."""

import pytest

from magnetar.errors import InvalidValue
from magnetar.spark.history import _path, _rounds
from magnetar.spark.offsets import NOTHING_READ, Offset
from magnetar.spark.planning import Range
from magnetar.spark.stitching import LedgerCopy


def test_each_read_has_one_range_of_a_topic():
    one, two, three = (Range(topic, NOTHING_READ, Offset(9, 1)) for topic in "aba")
    assert list(_rounds([one, two, three])) == [[one, two], [three]]
    assert list(_rounds([])) == []


def test_a_file_has_a_path_and_a_bucket_has_none():
    assert _path(LedgerCopy("file:///a%20b", "c/7.parquet", {}, whole=True)) == "/a b/c/7.parquet"
    with pytest.raises(InvalidValue, match="s3://b is a bucket"):
        _path(LedgerCopy("s3://b", "7.parquet", {}, whole=True))
