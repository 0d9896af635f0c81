import subprocess
import sys
import zipfile

import pytest

from magnetar.spark.shipping import ship_connector

pytestmark = pytest.mark.slow


class Spark:
    """Takes what it is sent, as a session does."""

    def addArtifacts(self, path, *, pyfile):  # noqa: N802 - Spark's name
        assert pyfile
        self.path = path


@pytest.fixture
def archive():
    spark = Spark()
    ship_connector(spark)
    return spark.path


def test_the_connector_can_be_imported_from_what_is_sent(archive, tmp_path):
    program = "import pyspark_pulsar, magnetar; print(magnetar.__file__); "
    program += "from magnetar import inner; print(inner.BUILD); import magnetar.spark.writer"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": archive},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    place, build = done.stdout.splitlines()
    assert place.startswith(archive)
    assert build == "plain"


def test_nothing_is_sent_that_a_zip_file_cannot_hold(archive):
    suffixes = {name.rpartition(".")[2] for name in zipfile.ZipFile(archive).namelist()}
    assert "py" in suffixes
    assert not suffixes & {"so", "c", "h", "pyc"}
