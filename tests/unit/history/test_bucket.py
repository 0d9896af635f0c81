import contextlib

import pytest
from support.history import TOPIC, single

from magnetar import inner
from magnetar.errors import LedgerNotFound, StorageError
from magnetar.history.bucket import Bucket
from magnetar.history.file_writer import LedgerFileWriter
from magnetar.history.stores import open_ledger


@pytest.fixture
def bucket():
    return Bucket("memory:///", {})


def test_the_file_of_a_ledger_is_written_and_read(bucket):
    entries = [single(b"one"), single(b"two")]
    with bucket.writing("a/7.parquet") as sink, LedgerFileWriter(sink, TOPIC, -1, 7) as writer:
        writer.add(entries, list(map(inner.checksum, entries)))
        writer.finish()
        assert bucket.names("a") == []
    with open_ledger(bucket, "a/7.parquet") as file:
        assert file.entries(0, 9, 9_999)[0] == entries
    assert bucket.names("a") == bucket.names("") == ["a/7.parquet"]


def test_nothing_is_there_of_a_file_that_could_not_be_finished(bucket):
    with contextlib.suppress(ZeroDivisionError), bucket.writing("7.parquet") as sink:
        sink.write(b"content")
        raise ZeroDivisionError
    assert bucket.names("") == []
    with pytest.raises(LedgerNotFound):
        bucket.reading("7.parquet")


def test_a_deleted_file_is_gone(bucket):
    with bucket.writing("7.parquet") as sink:
        sink.write(b"content")
    bucket.delete("7.parquet")
    bucket.delete("7.parquet")
    assert bucket.names("") == []


def test_options_that_are_refused_are_named():
    with pytest.raises(StorageError, match="nonsense"):
        Bucket("s3://bucket", {"nonsense": "1"})
