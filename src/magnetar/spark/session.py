"""A Spark session with the settings that Python data sources want.

Each setting was measured (``docs/spark.md`` has the numbers): without them a micro-batch costs
three times as much, and Spark may not find Java, or start workers in another Python. A plain
``SparkSession.builder`` works with ``format("pulsar")`` too.

The module can be called as the function in it, so that ``magnetar.spark.session()`` starts Spark
whether somebody imported this module or not.
"""

import contextlib
import hashlib
import logging
import os
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.parse import urlsplit

import pyspark
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.errors.exceptions import captured
from pyspark.sql import SparkSession

from magnetar.errors import InvalidValue, NotReady
from magnetar.spark.java import REMEDY, find_java
from magnetar.spark.one_line import show_causes_first
from magnetar.spark.scripts import plain, plain_command
from magnetar.spark.shipping import ship_connector
from magnetar.spark.spark_home import INSTALLED, LOG_FILE, PID_FILE, spark_home

ANYWHERE: Final = {
    # Loopback TCP costs some 40 ms for every task that runs in Python.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
    # Days and hours of event time mean the same everywhere.
    "spark.sql.session.timeZone": "UTC",
}
"""Settings with any master."""
SETTINGS: Final = {
    **ANYWHERE,
    # The default forks some twenty processes for each file of the checkpoint.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming"
        + ("" if pyspark.__version__.startswith("4.0.") else ".checkpointing")
        + ".FileSystemBasedCheckpointFileManager"
    ),
    # The default of 200 is for clusters: each is a task and a state store of every micro-batch.
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
    "spark.ui.enabled": "false",
}
"""Settings where Spark runs in this machine alone."""
OVER_CONNECT: Final = {"spark.sql.session.timeZone": "UTC"}
"""Settings of a session of a Connect server, which has settings of its own."""

_SHUTDOWN_TIMEOUT_S = 15.0
_CONNECT_PORT = 15002
_CONNECT_TIMEOUT_S = 5.0


def session(
    app_name: str = "magnetar",
    *,
    master: str | None = None,
    remote: str | None = None,
    settings: Mapping[str, str] | None = None,
    python: str | None = None,
    with_connector: bool = False,
    log_level: str = "warn",
    log_file: Path | None = None,
    pid_file: Path | None = None,
) -> SparkSession:
    """Start Spark, or return the session that runs; ``settings`` go before ours.

    In a thread other than the one that started it, it also makes ``writeStream`` find
    ``format("pulsar")``. ``master`` is ``local[*]`` where nothing else is said. With that of a
    cluster, ``python`` is the command for its workers, else theirs, and ``with_connector`` sends
    them this package: what it depends on has to be there. ``remote`` is a Spark Connect server,
    ``sc://host:port``, or a local master to start one here.

    What Spark prints goes to ``log_file``, else to this process's stderr. It takes seconds, and
    cannot be interrupted; but who kills the process named in ``pid_file``, which appears early,
    ends it. Raises NotReady when there is no Java to run it, or Java does not come up; InvalidValue
    for arguments that contradict each other.
    """
    if remote is not None and master is not None:
        raise InvalidValue("master and remote name two Sparks: give one of them")
    master = master or "local[*]"
    place = remote or master
    builder = SparkSession.builder.appName(app_name)
    builder = builder.master(master) if remote is None else builder.remote(remote)
    if place.startswith("sc://"):
        _refuse_where_nothing_listens(place)
        ours: Mapping[str, str] = OVER_CONNECT
    else:
        local = place.startswith("local")
        ours = SETTINGS if local else ANYWHERE
        if remote is not None:
            # The server that Spark starts would listen to every machine.
            ours = {**ours, "spark.connect.grpc.binding.address": "127.0.0.1"}
        prepare(
            os.environ,
            local=local,
            python=python,
            log_level=log_level,
            log_file=log_file,
            pid_file=pid_file,
        )
    for name, value in {**ours, **(settings or {})}.items():
        builder = builder.config(name, value)
    _show_errors_briefly(over_connect=remote is not None)
    try:
        with warnings.catch_warnings():
            if remote is not None:  # The server here was started with them: they are set.
                warnings.filterwarnings("ignore", f"Failed to set ({'|'.join(ours)}) ")
            spark = builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        reason = _cause(error)
        if place.startswith("sc://"):
            raise NotReady(f"no Spark Connect server answers at {remote}: {reason}") from error
        java = os.environ.get("JAVA_HOME")
        remedy = "" if isinstance(error, Py4JJavaError) else f" {REMEDY}"  # It is Java that speaks.
        raise NotReady(f"Spark did not start with the Java in {java}: {reason}{remedy}") from error
    if with_connector:
        ship_connector(spark)
    if remote is None:
        activate(spark)
        _settle_source(spark)
    return spark


def _refuse_where_nothing_listens(remote: str) -> None:
    """Raise NotReady: Spark's client would try for minutes. What else is wrong it says itself."""
    with contextlib.suppress(ValueError, OSError):
        parts = urlsplit(remote)
        address = parts.hostname or "", parts.port or _CONNECT_PORT
        try:
            socket.create_connection(address, _CONNECT_TIMEOUT_S).close()
        except ConnectionRefusedError as error:
            raise NotReady(f"no Spark Connect server answers at {remote}: {error}") from error


def _show_errors_briefly(*, over_connect: bool) -> None:
    """PySpark also prints each error that it raises, with all of Java's lines, as JSON."""
    show_causes_first(captured.CapturedException, captured.PythonException)
    if over_connect:
        from pyspark.errors.exceptions import connect  # noqa: PLC0415 - it needs grpc

        show_causes_first(connect.SparkConnectGrpcException)
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)


def _cause(error: Exception) -> str:
    """One line: Java's own where there is one, which comes second."""
    lines = str(error).splitlines() or [type(error).__name__]
    return next((line[2:] for line in lines if line.startswith(": ")), lines[0])


def activate(spark: SparkSession) -> None:
    """Make ``spark`` the session of this thread.

    ``writeStream.format("pulsar").start()`` asks for the thread's session, which only the thread
    that started Spark has by itself. Needed with no Connect session.
    """
    jvm: Any = spark._jvm  # noqa: SLF001 - Spark has no public way from Python
    module = getattr(getattr(jvm, "org.apache.spark.sql.classic.SparkSession$"), "MODULE$")
    module.setActiveSession(spark._jsparkSession)  # noqa: SLF001 - as above


def _settle_source(spark: SparkSession) -> None:
    """Have Spark find the format now, and make concurrent first starts of its queries safe.

    Spark 4.3 puts four variables into a map, which all queries of a format share, when each of
    them starts, without a lock: of two that add one at the same time, one may break the map, and
    every later query of the session fails with "Task not serializable". So they are put in here:
    a new value for what is there does not change the map's shape.
    """
    state = spark._jsparkSession.sessionState()  # noqa: SLF001 - Spark has no public way
    conf = spark.sparkContext._jsc.sc().conf()  # noqa: SLF001 - as above
    with contextlib.suppress(Py4JError):  # Else the first query says what is wrong.
        variables = state.dataSourceManager().lookupDataSource("pulsar").dataSourceCls().envVars()
        timeout_s = conf.getTimeAsSeconds("spark.python.authenticate.socketTimeout", "15s")
        buffer_bytes = conf.getSizeAsBytes("spark.buffer.size", "64k")
        variables.put("SPARK_AUTH_SOCKET_TIMEOUT", str(timeout_s))
        variables.put("SPARK_BUFFER_SIZE", str(buffer_bytes))
        variables.put("SPARK_LOCAL_DIRS", tempfile.gettempdir())
        variables.put("SPARK_PYTHON_RUNTIME", "PYTHON_WORKER")


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
    local: bool = True,
    python: str | None = None,
    log_level: str = "warn",
    log_file: Path | None = None,
    pid_file: Path | None = None,
) -> None:
    """Tell Spark, by environment variables, which Java, Python and Spark to use.

    What the user has set stays, but for JAVA_HOME. Where Spark is not ``local``, workers are on
    other machines: nothing is said of their Python but what ``python`` says. Raises NotReady.
    """
    folder = _folder(environment)
    environment["JAVA_HOME"] = str(find_java(environment, folder).home)
    environment[LOG_FILE] = str(log_file or "")
    environment[PID_FILE] = str(pid_file or "")
    if python is not None:
        environment["PYSPARK_PYTHON"] = python
    ours = os.name != "nt" and not {"SPARK_HOME", "SPARK_CONF_DIR"} & set(environment)
    brief = local and log_file is None and log_level == "warn"
    home = spark_home(folder, log_level, brief=brief) if ours else None
    if not local:
        if home is not None:
            environment["SPARK_CONF_DIR"] = str(home / "conf")
        return
    environment.setdefault("PYSPARK_PYTHON", plain_command(sys.executable, folder / "python"))
    # The driver's Python has to be of the same minor version as the workers': it is the same one.
    environment.setdefault("PYSPARK_DRIVER_PYTHON", environment["PYSPARK_PYTHON"])
    environment.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if home is not None:
        environment["SPARK_HOME"] = str(home)
    _make_importable(environment)


def _folder(environment: Mapping[str, str]) -> Path:
    """Where small files for Spark are kept from run to run; by user and by installation."""
    cache = environment.get("XDG_CACHE_HOME")
    root = Path(cache) if cache else Path.home() / ".cache"
    place = hashlib.sha256(f"{sys.prefix} {INSTALLED}".encode()).hexdigest()[:12]
    folder = root / "magnetar" / f"spark-{place}"
    with contextlib.suppress(OSError):
        if plain(str(folder)):  # Spark's scripts read files of it without quotes.
            folder.mkdir(parents=True, exist_ok=True)
            return folder
    return Path(tempfile.mkdtemp(prefix="magnetar-spark-"))


def _make_importable(environment: MutableMapping[str, str]) -> None:
    """Workers must find this package and ``pyspark_pulsar`` even when they are not installed."""
    source = str(Path(__file__).resolve().parents[2])
    path = environment.get("PYTHONPATH", "").split(os.pathsep)
    if Path(source).name != "site-packages" and source not in path:
        environment["PYTHONPATH"] = os.pathsep.join([source, *filter(None, path)])


class _CallableModule(ModuleType):
    __call__ = staticmethod(session)


sys.modules[__name__].__class__ = _CallableModule
