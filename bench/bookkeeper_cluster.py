"""A real ZooKeeper server and real bookies, from Maven Central: fetched once, ended by pid.

    python -m bench.bookkeeper_cluster    # Fetch them; exit with 1 and the reason when that fails.

The jars of Apache BookKeeper's server, 80 MB, have ZooKeeper's with them. They go to a cache folder
outside the repository (``maven.py``). All processes listen on free ports of 127.0.0.1.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

from bench.maven import Missing, cached, fetched
from magnetar.broker.settings.setting import text_of
from magnetar.testing.ports import free_port

VERSION: Final = "4.17.2"
"""As in Apache Pulsar 4.0.7."""
REMEDY: Final = "make cluster-jars"
STARTUP_TIMEOUT_S: Final = 60
STOP_TIMEOUT_S: Final = 30
_JARS_MIN: Final = 40
_POM: Final = Path(__file__).parent / "bookkeeper" / "pom.xml"
_NAME: Final = f"bookkeeper-{VERSION}"
_OPENED: Final = [
    "-Dio.netty.tryReflectionSetAccessible=true",
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in ("java.nio", "jdk.internal.misc")
    ),
]
SMALL_JVM: Final = [
    *("-Xms64m", "-Xmx192m", "-XX:MaxDirectMemorySize=192m", "-XX:+UseSerialGC"),
    "-XX:TieredStopAtLevel=1",
    *_OPENED,
]
_FASTER: Final = "classes.jsa"
"""Beside the jars: what a JVM made of their classes, so that the next need not. Half of a start."""
SHIPPED_JVM: Final = ["-Xms512m", "-Xmx512m", "-XX:MaxDirectMemorySize=1g", *_OPENED]
"""Of a bookie that is measured: its own collector and compilers, and less memory than 2 GB."""
_BOOKIE: Final = {
    "advertisedAddress": "127.0.0.1",
    "allowLoopback": "true",
    "nettyMaxFrameSizeBytes": "5253120",  # As Pulsar sets it: a message of 5 MiB, and its head.
    "httpServerEnabled": "false",
    "statsProviderClass": "org.apache.bookkeeper.stats.NullStatsProvider",
    "zkTimeout": "6000",
    "journalMaxSizeMB": "64",
    "journalPreAllocSizeMB": "4",
    "journalMaxBackups": "5",  # With fewer, one that was killed at times misses a journal.
    "journalFlushWhenQueueEmpty": "true",
    "logSizeLimit": "67108864",
    "minUsableSizeForEntryLogCreation": "134217728",
    "entryLogFilePreallocationEnabled": "false",
    "diskUsageThreshold": "0.99",
    "diskUsageWarnThreshold": "0.98",
    "gcWaitTime": "60000",
    "minorCompactionInterval": "120",
    "majorCompactionInterval": "240",
    "flushInterval": "2000",
    "skipListSizeLimit": "16777216",
    "numReadWorkerThreads": "2",
    "numHighPriorityWorkerThreads": "2",
    "serverNumIOThreads": "2",
}
SHIPPED: Final = {
    "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
    "numAddWorkerThreads": "0",
    "numReadWorkerThreads": "8",
    "numHighPriorityWorkerThreads": "8",
    "numJournalCallbackThreads": "8",
    "serverNumIOThreads": "4",  # By default, two for each processor.
    "journalFormatVersionToWrite": "5",
    "fileInfoFormatVersionToWrite": "0",
    "journalMaxGroupWaitMSec": "1",
    "journalFlushWhenQueueEmpty": "false",
    "journalBufferedWritesThreshold": "524288",
    "journalMaxSizeMB": "512",  # 2048 there, of which five are kept: the disk is not only ours.
    "journalPreAllocSizeMB": "16",
    "flushEntrylogBytes": "33554432",
    "flushInterval": "60000",
    "logSizeLimit": "1073741824",
    "entryLogFilePreallocationEnabled": "true",
    "gcWaitTime": "900000",
    "minorCompactionInterval": "3600",
    "majorCompactionInterval": "86400",
}
"""What Apache Pulsar's ``bookkeeper.conf`` sets, where tests set what starts and ends sooner."""


def conf_text(settings: Mapping[str, object]) -> str:
    """Settings as a file has them, of a server or of a broker."""
    return "".join(f"{key}={text_of(value)}\n" for key, value in settings.items())


def fetch() -> Path:
    """The folder with the jars, filled by Maven if it is not yet. Raises Missing."""
    return fetched(_NAME, _POM, jars_min=_JARS_MIN, size="80 MB", bookkeeper_version=VERSION)


def jars() -> Path:
    """The folder with jars that were fetched before. Raises Missing."""
    return cached(_NAME, jars_min=_JARS_MIN, remedy=REMEDY)


def _shared_classes() -> list[str]:
    """The option of a JVM that takes over what another has made of the classes of ``jars``.

    A JVM that is another one passes over it; that it does it says, without the second option.
    """
    made = jars().parent / _FASTER
    return [f"-XX:SharedArchiveFile={made}", "-Xlog:disable"] if made.exists() else []


def _share_classes() -> None:
    """Have a bookie that serves nobody make it, if none did on this machine: some seconds, once."""
    made = jars().parent / _FASTER
    if made.exists():
        return
    with tempfile.TemporaryDirectory(prefix="classes-", dir=made.parent) as folder:
        written = Path(folder) / _FASTER
        options = [*SMALL_JVM, f"-XX:ArchiveClassesAtExit={written}", "-Xlog:disable"]
        cluster = BookKeeperCluster(Path(folder), 1, options=options)
        try:
            cluster.start()
            cluster.bookies[0].stop()
        finally:
            cluster.__exit__()
        if written.exists():
            written.replace(made)


class Java:
    """One JVM process. ``kill`` and ``start`` may follow one another."""

    def __init__(
        self,
        folder: Path,
        log: str,
        main: str,
        *arguments: str,
        classes: Path | None = None,
        options: Sequence[str] = SMALL_JVM,
    ) -> None:
        """``classes`` is a folder of jars, by default of the bookies' own. Raises Missing."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._log = folder / log
        self._options = options
        self._program = ["-cp", f"{classes or jars()}/*", main, *arguments]
        self._shared = list[str] if classes else _shared_classes
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Its process id, while it runs."""
        assert self._process is not None, "it does not run"
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                ["java", *self._options, *self._shared(), *self._program],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,  # Ctrl-C is for us, who end it last.
            )

    def await_ready(self, ready: Callable[[], bool]) -> None:
        """Return when ``ready`` says so. Raises RuntimeError with the end of its log."""
        deadline = time.monotonic() + STARTUP_TIMEOUT_S
        while not ready():
            ended = self._process is None or self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                raise RuntimeError(f"it is not ready: {self._log.read_text()[-3000:]}")
            time.sleep(0.05)  # There is nothing to wait on but its answer.

    def signal(self, number: int) -> None:
        """Send a signal, as SIGSTOP and SIGCONT."""
        os.kill(self.pid, number)

    def stop(self) -> None:
        """Ask the process to end, if it runs, and wait until it has."""
        if self._process is not None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_TIMEOUT_S)
        self.kill()

    def kill(self) -> None:
        """End the process at once, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class ZooKeeperServer(Java):
    """One ZooKeeper server. Leaving the ``with`` block ends it."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        conf = folder / "zoo.cfg"
        settings = {
            "tickTime": 500,
            "dataDir": folder / "data",
            "clientPort": self.port,
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false",
            "maxClientCnxns": 0,
            "4lw.commands.whitelist": "*",
            "minSessionTimeout": 1000,
            "maxSessionTimeout": 60000,
        }
        conf.write_text(conf_text(settings))
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        super().__init__(folder, "zookeeper.log", main, str(conf))

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        self.await_ready(self.answers)
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def answers(self) -> bool:
        """Whether it serves."""
        return self.tell("ruok") == "imok"

    def tell(self, word: str) -> str:
        """What it answers to one of its words of four letters; nothing where it is not there."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as link:
                link.sendall(word.encode())
                return b"".join(iter(lambda: link.recv(65536), b"")).decode()
        except OSError:
            return ""


class BookieServer(Java):
    """One bookie."""

    def __init__(
        self,
        folder: Path,
        zookeeper: ZooKeeperServer,
        settings: Mapping[str, object],
        options: Sequence[str],
    ) -> None:
        """``settings`` beside those that all have here; ``options`` are for its JVM."""
        self.port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        conf = folder / "bookie.conf"
        settings = {
            **_BOOKIE,
            **settings,
            "bookiePort": self.port,
            "journalDirectories": folder / "journal",
            "ledgerDirectories": folder / "ledgers",
            "metadataServiceUri": f"zk+hierarchical://{zookeeper.address}/ledgers",
        }
        conf.write_text(conf_text(settings))
        self.conf = conf
        self._zookeeper = zookeeper
        super().__init__(
            folder,
            "bookie.log",
            "org.apache.bookkeeper.server.Main",
            *("--conf", str(conf)),
            options=options,
        )

    def start(self) -> None:
        """Start it; what it left in ZooKeeper when it was killed stays there for a while."""
        self._former = self._session()
        super().start()

    def _session(self) -> str:
        """The session in which it is there for clients."""
        session = ""
        for line in self._zookeeper.tell("dump").splitlines():
            if line.startswith("0x"):
                session = line
            elif line.strip() == f"/ledgers/available/{self.bookie_id}":
                return session
        return ""

    @property
    def bookie_id(self) -> str:
        """As ledgers name it."""
        return f"127.0.0.1:{self.port}"

    def answers(self) -> bool:
        """Whether it is there for clients: ZooKeeper tells them, and it listens."""
        if self._session() in {"", self._former}:
            return False
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True


class BookKeeperCluster:
    """A ZooKeeper server and some bookies. Leaving the ``with`` block ends them all."""

    def __init__(
        self,
        folder: Path,
        bookies: int = 3,
        settings: Mapping[str, object] = MappingProxyType({}),
        options: Sequence[str] = SMALL_JVM,
    ) -> None:
        """``folder`` gets all their files, ``settings`` and ``options`` are those of all bookies.

        Raises Missing where the jars were not fetched.
        """
        self.zookeeper = ZooKeeperServer(folder / "zookeeper")
        self.bookies = [
            BookieServer(folder / f"bookie-{number}", self.zookeeper, settings, options)
            for number in range(bookies)
        ]

    def start(self) -> None:
        """Start them all."""
        self.zookeeper.__enter__()
        self.shell("initnewcluster")
        for bookie in self.bookies:
            bookie.start()
        for bookie in self.bookies:
            bookie.await_ready(bookie.answers)

    def __enter__(self) -> Self:
        try:
            _share_classes()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for bookie in self.bookies:
            bookie.kill()
        self.zookeeper.__exit__()

    def shell(self, *arguments: str) -> str:
        """Run a command of BookKeeper's own shell; what it wrote. Raises CalledProcessError."""
        command = ["java", *SMALL_JVM, *_shared_classes(), "-cp", f"{jars()}/*"]
        command += ["org.apache.bookkeeper.bookie.BookieShell", "-conf", str(self.bookies[0].conf)]
        done = subprocess.run(
            [*command, *arguments],
            capture_output=True,
            text=True,
            timeout=STARTUP_TIMEOUT_S,
            check=True,
        )
        return done.stdout + done.stderr

    def run_java(self, source: Path, *arguments: str) -> str:
        """Run a Java program of one file with these classes; what it wrote. Raises as ``shell``."""
        command = ["java", *SMALL_JVM, *_shared_classes(), "-cp", f"{jars()}/*"]
        done = subprocess.run(
            [*command, str(source), *arguments],
            capture_output=True,
            text=True,
            timeout=STARTUP_TIMEOUT_S,
            check=True,
        )
        return done.stdout

    @property
    def metadata_service_uri(self) -> str:
        """Where BookKeeper's clients find it."""
        return f"zk+hierarchical://{self.zookeeper.address}/ledgers"

    def stop(self, number: int) -> None:
        """Let a bookie answer nothing, as one whose machine hangs."""
        self.bookies[number].signal(signal.SIGSTOP)

    def go_on(self, number: int) -> None:
        """Let a bookie that was stopped go on."""
        self.bookies[number].signal(signal.SIGCONT)


def main() -> int:
    """Fetch the jars."""
    try:
        fetch()
    except Missing as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
