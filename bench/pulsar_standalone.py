"""Apache Pulsar's standalone from Maven Central: fetched once, started on free ports, ended by pid.

    python -m bench.pulsar_standalone    # Fetch it; exit with 1 and the reason when that fails.

The jars, 235 MB, go to a cache folder outside the repository (``maven.py``), in two minutes on a
good line.
"""

import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Self

from bench.broker import Broker
from bench.maven import Missing, fetched
from magnetar.testing.ports import free_port

VERSION = "4.0.7"
STARTUP_TIMEOUT_S = 120
STOP_TIMEOUT_S = 20
JARS_MIN = 300  # 317 belong to 4.0.7; far fewer: the fetch did not end.
HERE = Path(__file__).parent / "pulsar"

# As its own bin/pulsar starts it, with its default memory.
_MEMORY = ["-Xms2g", "-Xmx2g", "-XX:MaxDirectMemorySize=4g", "-XX:+UseZGC", "-XX:+AlwaysPreTouch"]
_OPENED = [
    *(f"java.base/java.{name}" for name in ("io", "lang", "nio", "util", "util.zip")),
    *(f"java.base/{name}" for name in ("jdk.internal.misc", "jdk.internal.platform", "sun.net")),
    "java.management/sun.management",
    "jdk.management/com.sun.management.internal",
]
OPENED = [
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.recycler.maxCapacityPerThread=4096",
    "-Djava.net.preferIPv4Stack=true",
    *(part for name in _OPENED for part in ("--add-opens", f"{name}=ALL-UNNAMED")),
]
"""What its classes need of the JVM."""
JVM_OPTIONS = [*_MEMORY, *OPENED]


def fetch() -> Path:
    """The folder with Pulsar's jars; filled by Maven if it is not yet. Raises Missing."""
    return fetched(
        f"pulsar-{VERSION}",
        HERE / "pom.xml",
        jars_min=JARS_MIN,
        size="235 MB",
        pulsar_version=VERSION,
    )


class PulsarStandalone(Broker):
    """``PulsarStandaloneStarter`` in a folder of its own. Leaving the ``with`` block ends it."""

    def __init__(self, jars: Path, folder: Path, *, fsync: bool, settings: str = "") -> None:
        """``settings`` are further lines for its ``standalone.conf``."""
        super().__init__(f"Pulsar {VERSION}, {'fsync' if fsync else 'no fsync, as it ships'}")
        self._jars = jars
        self._folder = folder
        self._fsync = fsync
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._ports = free_port(), free_port(), free_port()

    def __enter__(self) -> Self:
        self.start()
        return self

    def start(self) -> None:
        """Start it, again on the same ports and data where it was killed."""
        port, web_port, bookie_port = self._ports
        folder = self._folder
        folder.mkdir(parents=True, exist_ok=True)
        configuration = folder / "standalone.conf"
        configuration.write_text(
            (HERE / "standalone.conf").read_text()
            + f"brokerServicePort={port}\nwebServicePort={web_port}\n"
            + f"journalSyncData={str(self._fsync).lower()}\n"
            + self._settings
        )
        command = ["java", *JVM_OPTIONS, f"-Dlog4j.configurationFile={HERE / 'log4j2.xml'}"]
        command += ["-cp", f"{self._jars}/*", "org.apache.pulsar.PulsarStandaloneStarter"]
        command += ["--config", str(configuration), "--metadata-dir", str(folder / "metadata")]
        command += ["--bookkeeper-dir", str(folder / "bookkeeper"), "--num-bookies", "1"]
        command += ["--bookkeeper-port", str(bookie_port), "-nfw", "-nss"]
        started = time.perf_counter()
        with (folder / "pulsar.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder
            )
        self.pid = self._process.pid
        self.url = f"pulsar://127.0.0.1:{port}"
        self.web_url = f"http://127.0.0.1:{web_port}"
        try:
            self._await_namespace(started)
        except BaseException:
            self.__exit__()
            raise
        self.startup_s = time.perf_counter() - started

    def kill(self) -> None:
        """End it at once, as a crash does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def __exit__(self, *_: object) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _await_namespace(self, started: float) -> None:
        """It serves when ``public/default`` is there, some seconds after its web port is."""
        namespaces = f"{self.web_url}/admin/v2/namespaces/public"
        while time.perf_counter() - started < STARTUP_TIMEOUT_S:
            assert self._process is not None
            if self._process.poll() is not None:
                raise RuntimeError(f"Pulsar ended while it started: {self._log_end()}")
            try:
                with urllib.request.urlopen(namespaces, timeout=5) as answer:
                    if b"public/default" in answer.read():
                        return
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.25)  # There is nothing to wait on but its answer.
        raise RuntimeError(f"Pulsar was not ready in {STARTUP_TIMEOUT_S} s: {self._log_end()}")

    def _log_end(self) -> str:
        return (self._folder / "pulsar.log").read_text(errors="replace")[-3000:]


def main() -> int:
    try:
        print(f"Apache Pulsar {VERSION} is in {fetch()}")
    except Missing as error:
        print(f"skipped, there is no Apache Pulsar here: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
