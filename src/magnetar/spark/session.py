"""A Spark session with the settings that Python data sources want.

Each setting was measured (``docs/spark.md`` has the numbers): without them a micro-batch costs
three times as much, and Spark may not find Java, or start workers in another Python. A plain
``SparkSession.builder`` works with ``format("pulsar")`` too.
"""

import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, MutableMapping
from pathlib import Path

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from magnetar.errors import NotReady
from magnetar.spark.java import REMEDY, find_java
from magnetar.spark.scripts import plain, plain_command, write_whole

SETTINGS = {
    # Loopback TCP costs some 40 ms for every task that runs in Python.
    "spark.python.unix.domain.socket.enabled": "true",
    # The default forks some twenty processes for each file of the checkpoint.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing"
        ".FileSystemBasedCheckpointFileManager"
    ),
    # The default of 200 is for clusters: each is a task and a state store of every micro-batch.
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Days and hours of event time mean the same everywhere.
    "spark.sql.session.timeZone": "UTC",
}

_INSTALLED = Path(pyspark.__file__).parent
_SHUTDOWN_TIMEOUT_S = 15.0
_LOG_FILE = "MAGNETAR_SPARK_LOG_FILE"
_PID_FILE = "MAGNETAR_SPARK_PID_FILE"
_ENVIRONMENT = f"""\
# Everything that Spark, its Java and its Python workers would print.
if [ -n "${_LOG_FILE}" ]; then exec >>"${_LOG_FILE}" 2>&1; fi
# Java will be this very process.
if [ -n "${_PID_FILE}" ]; then echo $$ >"${_PID_FILE}"; fi
"""
_LOGGING = """\
rootLogger.level = {level}
# Spark takes the log level of a Python session from this logger.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = {level}
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""


def session(
    app_name: str = "magnetar",
    *,
    master: str = "local[*]",
    settings: Mapping[str, str] | None = None,
    log_level: str = "warn",
    log_file: Path | None = None,
    pid_file: Path | None = None,
) -> SparkSession:
    """Start Spark, or return the session that runs; ``settings`` go before ours.

    What Spark prints goes to ``log_file``, else to this process's stderr. It takes seconds, and
    cannot be interrupted; but who kills the process named in ``pid_file``, which appears early,
    ends it. Raises NotReady when there is no Java to run it, or Java does not come up.
    """
    prepare(os.environ, log_level=log_level, log_file=log_file, pid_file=pid_file)
    builder = SparkSession.builder.appName(app_name).master(master)
    for name, value in {**SETTINGS, **(settings or {})}.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        java = os.environ.get("JAVA_HOME")
        raise NotReady(f"Spark did not start with the Java in {java}: {error} {REMEDY}") from error


def shut_down(spark: SparkSession) -> None:
    """Stop the session and end its Java process, which ``spark.stop()`` leaves running.

    A process that is gone already is fine.
    """
    with contextlib.suppress(Py4JError, OSError):
        spark.stop()
    gateway = SparkContext._gateway  # noqa: SLF001 - there is no public way to the process
    if gateway is None:
        return
    SparkContext._gateway = None  # noqa: SLF001 - as above: the next session starts a new one
    SparkContext._jvm = None  # noqa: SLF001 - as above
    with contextlib.suppress(Py4JError, OSError):
        gateway.shutdown()
    process = gateway.proc
    if process is not None:
        process.stdin.close()  # Java ends when its stdin does.
        try:
            process.wait(_SHUTDOWN_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def prepare(
    environment: MutableMapping[str, str],
    *,
    log_level: str = "warn",
    log_file: Path | None = None,
    pid_file: Path | None = None,
) -> None:
    """Tell Spark, by environment variables, which Java, Python and Spark to use.

    What the user has set stays, but for a JAVA_HOME that is too old. Raises NotReady.
    """
    folder = _folder(environment)
    environment["JAVA_HOME"] = str(find_java(environment, folder).home)
    python = plain_command(sys.executable, folder / "python")
    environment.setdefault("PYSPARK_PYTHON", python)
    # The driver's Python has to be of the same minor version as the workers': it is the same one.
    environment.setdefault("PYSPARK_DRIVER_PYTHON", environment["PYSPARK_PYTHON"])
    environment.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if os.name != "nt" and "SPARK_HOME" not in environment:
        environment["SPARK_HOME"] = str(_spark_home(folder, log_level))
    environment[_LOG_FILE] = str(log_file or "")
    environment[_PID_FILE] = str(pid_file or "")
    _make_importable(environment)


def _folder(environment: Mapping[str, str]) -> Path:
    """Where small files for Spark are kept from run to run; by user and by installation."""
    cache = environment.get("XDG_CACHE_HOME")
    root = Path(cache) if cache else Path.home() / ".cache"
    place = hashlib.sha256(f"{sys.prefix} {_INSTALLED}".encode()).hexdigest()[:12]
    folder = root / "magnetar" / f"spark-{place}"
    with contextlib.suppress(OSError):
        if plain(str(folder)):  # Spark's scripts read files of it without quotes.
            folder.mkdir(parents=True, exist_ok=True)
            return folder
    return Path(tempfile.mkdtemp(prefix="magnetar-spark-"))


def _spark_home(folder: Path, log_level: str) -> Path:
    """A folder of links to the installed Spark, without its zipped copy of pyspark.

    Workers prefer that copy to the installed package, and compile it anew in each process: half a
    second each. It is also the place for a log configuration of our own.
    """
    home = folder / f"home-{log_level}"
    conf = home / "conf"
    conf.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "jars", "sbin"):
        link = home / name
        if not link.is_symlink() and (_INSTALLED / name).is_dir():
            with contextlib.suppress(FileExistsError):  # Another process was faster.
                link.symlink_to(_INSTALLED / name, target_is_directory=True)
    write_whole(conf / "log4j2.properties", _LOGGING.format(level=log_level))
    write_whole(conf / "spark-env.sh", _ENVIRONMENT)
    return home


def _make_importable(environment: MutableMapping[str, str]) -> None:
    """Workers must find this package and ``pyspark_pulsar`` even when they are not installed."""
    source = str(Path(__file__).resolve().parents[2])
    path = environment.get("PYTHONPATH", "").split(os.pathsep)
    if Path(source).name != "site-packages" and source not in path:
        environment["PYTHONPATH"] = os.pathsep.join([source, *filter(None, path)])
