"""Apache Kafka's broker and its connector for Spark, from Maven Central; one broker, ended by pid.

    python -m bench.kafka_standalone    # Fetch them; exit with 1 and the reason when that fails.

The jars, 70 MB, go to a cache folder outside the repository (``maven.py``).
"""

import base64
import shutil
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Self

from bench.broker import Broker
from bench.maven import Missing, fetched
from magnetar.testing.ports import free_port

VERSION = "4.1.1"
CONNECTOR_VERSION = "4.2.0"  # The newest on Maven Central; it runs in Spark 4.3, too.
STARTUP_TIMEOUT_S = 60
STOP_TIMEOUT_S = 20
JARS_MIN = 60  # 92 belong to 4.1.1.
CONNECTOR_JARS_MIN = 5
HERE = Path(__file__).parent / "kafka"

_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/data
num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""


def fetch() -> tuple[Path, list[Path]]:
    """The folder with the broker's jars, and the connector's jars. Raises Missing."""
    broker = fetched(
        f"kafka-{VERSION}", HERE / "pom.xml", jars_min=JARS_MIN, size="54 MB", kafka_version=VERSION
    )
    connector = fetched(
        f"kafka-connector-{CONNECTOR_VERSION}",
        HERE / "connector-pom.xml",
        jars_min=CONNECTOR_JARS_MIN,
        size="14 MB",
        connector_version=CONNECTOR_VERSION,
    )
    return broker, sorted(connector.glob("*.jar"))


class KafkaStandalone(Broker):
    """A broker that is its own controller, with its default settings: it syncs nothing itself."""

    def __init__(self, jars: Path, folder: Path) -> None:
        super().__init__(f"Kafka {VERSION}, no fsync, as it ships")
        self._jars = jars
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def java(self, main: str, *arguments: str) -> list[str]:
        """The command that runs one of its programs."""
        return ["java", "-Xms1g", "-Xmx1g", "-cp", f"{self._jars}/*", main, *arguments]

    def __enter__(self) -> Self:
        port = free_port()
        self._folder.mkdir(parents=True, exist_ok=True)
        settings = self._folder / "server.properties"
        settings.write_text(
            _SETTINGS.format(port=port, controller_port=free_port(), folder=self._folder)
        )
        log4j = f"-Dlog4j2.configurationFile={HERE / 'log4j2.xml'}"
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        tool = self.java("kafka.tools.StorageTool", "format", "-t", cluster, "--standalone")
        started = time.perf_counter()
        with (self._folder / "kafka.log").open("wb") as log:
            command = [*tool, "-c", str(settings)]
            subprocess.run(command, check=True, stdout=log, stderr=log, timeout=STARTUP_TIMEOUT_S)
            command = self.java("kafka.Kafka", str(settings))
            self._process = subprocess.Popen(
                [command[0], log4j, *command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
            )
        self.pid = self._process.pid
        self.url = f"127.0.0.1:{port}"
        try:
            self._await_port(port, started)
        except BaseException:
            self.__exit__()
            raise
        self.startup_s = time.perf_counter() - started
        return self

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
        shutil.rmtree(self._folder / "data", ignore_errors=True)

    def _await_port(self, port: int, started: float) -> None:
        while time.perf_counter() - started < STARTUP_TIMEOUT_S:
            assert self._process is not None
            if self._process.poll() is not None:
                break
            with socket.socket() as probe:
                probe.settimeout(1)
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.2)  # There is nothing to wait on but its port.
        log = (self._folder / "kafka.log").read_text(errors="replace")
        raise RuntimeError(f"Kafka was not ready: {log[-2000:]}")


def main() -> int:
    try:
        broker, connector = fetch()
        print(f"Kafka {VERSION} is in {broker}, the connector in {connector[0].parent}")
    except Missing as error:
        print(f"skipped, there is no Kafka here: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
