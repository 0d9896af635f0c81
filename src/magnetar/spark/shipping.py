"""Sends this package to the workers of a cluster, for a session that has it and they have not."""

import atexit
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

_SOURCE: Final = Path(__file__).resolve().parents[2]
_PACKAGES: Final = ("magnetar", "pyspark_pulsar")


def ship_connector(spark: SparkSession) -> None:
    """Before the first query of ``format("pulsar")``; also over Spark Connect.

    What the package depends on has to be installed there, as it is not of Python alone. Its
    compiled loops are not sent: a zip file holds Python only.
    """
    folder = Path(tempfile.mkdtemp(prefix="magnetar-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # Workers fetch it when they start.
    archive = folder / "magnetar_connector.zip"
    _pack(archive)
    spark.addArtifacts(str(archive), pyfile=True)


def _pack(archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for package in _PACKAGES:
            for file in sorted((_SOURCE / package).rglob("*")):
                if file.is_file() and file.suffix not in {".so", ".pyd", ".pyc", ".c", ".h"}:
                    packed.write(file, file.relative_to(_SOURCE))
