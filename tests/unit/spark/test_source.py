import subprocess
import sys
from contextlib import nullcontext
from functools import partial

import pyspark
import pytest
from pyspark.sql.types import StructType

from magnetar.errors import InvalidValue, NotAllowed
from magnetar.spark.batch_reader import BatchReader
from magnetar.spark.schema import READ_SCHEMA
from magnetar.spark.source import PulsarDataSource
from magnetar.spark.stream_reader import StreamReader
from magnetar.spark.writer import BatchWriter, StreamWriter

OPTIONS = {"service.url": "pulsar://localhost:6650", "topic": "orders"}
WRITTEN = StructType().add("value", "string")


@pytest.fixture
def source():
    return PulsarDataSource(OPTIONS)


def test_the_format_is_called_pulsar_and_has_the_columns_of_a_message(source):
    assert source.name() == "pulsar"
    assert source.schema() == READ_SCHEMA


def test_spark_gets_the_reader_or_writer_it_asks_for(source):
    assert isinstance(source.reader(READ_SCHEMA), BatchReader)
    assert isinstance(source.streamReader(READ_SCHEMA), StreamReader)
    assert isinstance(source.writer(WRITTEN, overwrite=False), BatchWriter)
    assert isinstance(source.streamWriter(WRITTEN, overwrite=False), StreamWriter)


def test_what_is_wrong_is_said_before_anything_runs(source):
    with pytest.raises(InvalidValue, match="no column 'count"):
        source.reader(StructType().add("count", "long"))
    with pytest.raises(InvalidValue, match="no column 'value'"):
        source.streamWriter(StructType().add("key", "string"), overwrite=False)
    with pytest.raises(NotAllowed, match="append"):
        source.writer(WRITTEN, overwrite=True)
    with pytest.raises(InvalidValue, match=r"service\.url"):
        PulsarDataSource({"topic": "orders"}).reader(READ_SCHEMA)


@pytest.mark.parametrize(
    "wrong",
    [{"startingOfsets": "earliest"}, {"startingOffsets": "soon"}, {"service.url": "localhost"}],
)
def test_options_are_checked_when_a_source_is_made(wrong):
    """Nobody has said yet whether it is a stream."""
    with pytest.raises(InvalidValue, match=r"option '?(starting|service)"):
        PulsarDataSource({**OPTIONS, **wrong}).schema()


def test_a_stream_says_what_is_wrong_where_spark_shows_it():
    """Spark calls the reader's ``stop``, and shows that there is none, if it cannot be made."""
    reader = PulsarDataSource({**OPTIONS, "endingOffsets": "latest"}).streamReader(READ_SCHEMA)
    for asked in (reader.initialOffset, reader.latestOffset):
        with pytest.raises(InvalidValue, match="option endingOffsets is for batch reads only"):
            asked()
    reader.stop()


@pytest.mark.parametrize(("version", "writes"), [("4.0.5", False), ("4.1.4", True)])
def test_an_older_spark_is_told_what_it_takes(source, monkeypatch, version, writes):
    monkeypatch.setattr(pyspark, "__version__", version)
    said = f"needs PySpark .* and this is {version}: pip install"
    reader = source.streamReader(READ_SCHEMA)
    for asked in (reader.initialOffset, reader.latestOffset, partial(reader.read, None)):
        with pytest.raises(NotAllowed, match=f"readStream .*{said}"):
            asked()
    with nullcontext() if writes else pytest.raises(NotAllowed, match=f"writeStream .*{said}"):
        source.streamWriter(WRITTEN, overwrite=False)
    assert isinstance(source.reader(READ_SCHEMA), BatchReader)
    assert isinstance(source.writer(WRITTEN, overwrite=False), BatchWriter)


def test_the_module_that_spark_imports_for_every_format_is_light():
    """It may not need the client, Arrow or the broker: they would be imported for nothing."""
    program = (
        "import sys, pyspark.sql.datasource; before = set(sys.modules); import pyspark_pulsar; "
        "new = set(sys.modules) - before; assert pyspark_pulsar.DefaultSource.name() == 'pulsar'; "
        "print([m for m in new if m.startswith(('magnetar.client', 'magnetar.wire', 'pyarrow', "
        "'google', 'asyncio', 'pandas', 'aiohttp'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
