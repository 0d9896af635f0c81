"""A folder that Spark takes for its home: links to the installed one, with settings of our own.

Workers prefer the zipped copy of pyspark in a home to the installed package, and compile it anew
in each process: half a second each. This home has no such copy. Its ``conf`` is also the place for
a log configuration, and for where Spark prints.
"""

import contextlib
import hashlib
from pathlib import Path
from typing import Final

import pyspark

from magnetar.spark.scripts import write_whole

LOG_FILE: Final = "MAGNETAR_SPARK_LOG_FILE"
PID_FILE: Final = "MAGNETAR_SPARK_PID_FILE"
INSTALLED: Final = Path(pyspark.__file__).parent

_ENVIRONMENT: Final = f"""\
# Everything that Spark, its Java and its Python workers would print.
if [ -n "${LOG_FILE}" ]; then exec >>"${LOG_FILE}" 2>&1; fi
# Java will be this very process.
if [ -n "${PID_FILE}" ]; then echo $$ >"${PID_FILE}"; fi
"""
_NEEDLESS: Final = {
    # It warns at each start, of code that only Hadoop's own builds have.
    "org.apache.hadoop.util.NativeCodeLoader": "error",
    # It warns, twice, of each stream that is stopped while it waits: there is no job to cancel.
    "org.apache.spark.scheduler.DAGScheduler": "error",
    # These warn at each stream that adaptive execution is off for it, as it is for every stream.
    "org.apache.spark.sql.execution.streaming.runtime.ResolveWriteToStream": "error",
    "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution": "error",
    # It warns of workers that ended while nobody needed them, and starts others.
    "org.apache.spark.api.python.PythonWorkerFactory": "error",
}
_SAID_ELSEWHERE: Final = {
    # What fails in a task is said by each of them, and raised, and said by the query.
    "org.apache.spark.executor.Executor": "off",
    "org.apache.spark.scheduler.TaskSetManager": "off",
    "org.apache.spark.sql.execution.datasources.v2.DataWritingSparkTask": "off",
    "org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2Exec": "off",
    "org.apache.spark.sql.execution.datasources.v2.AppendDataExec": "off",
    "org.apache.spark.util.Utils": "off",
}
_DETAILED: Final = frozenset({"info", "debug", "trace", "all"})
_LOGGING: Final = """\
rootLogger.level = {level}
# Spark takes the log level of a Python session from this logger.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = {level}
{levels}
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n{error}
"""


def spark_home(folder: Path, log_level: str, *, brief: bool) -> Path:
    """The home in ``folder`` for this log level; it is written when it is not there.

    ``brief`` is for who reads along: an error is a line, and said once.
    """
    levels = {} if log_level in _DETAILED else {**_NEEDLESS, **(_SAID_ELSEWHERE if brief else {})}
    logging = _LOGGING.format(
        level=log_level,
        levels="\n".join(
            f"logger.{number}.name = {name}\nlogger.{number}.level = {level}"
            for number, (name, level) in enumerate(levels.items())
        ),
        error="%ex{1}" if brief else "%ex",
    )
    # Another version of this file, in the same environment, has a home of its own.
    version = hashlib.sha256(f"{logging}{_ENVIRONMENT}".encode()).hexdigest()[:8]
    home = folder / f"home-{log_level}-{version}"
    conf = home / "conf"
    conf.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "jars", "sbin"):
        link = home / name
        if not link.is_symlink() and (INSTALLED / name).is_dir():
            with contextlib.suppress(FileExistsError):  # Another process was faster.
                link.symlink_to(INSTALLED / name, target_is_directory=True)
    write_whole(conf / "log4j2.properties", logging)
    write_whole(conf / "spark-env.sh", _ENVIRONMENT)
    return home
