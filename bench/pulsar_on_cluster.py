"""Brokers of Apache Pulsar on the ZooKeeper and the bookies of ``bookkeeper_cluster.py``.

    with BookKeeperCluster(folder) as cluster:
        set_up(cluster)
        with PulsarBroker(folder / "broker", cluster, {"numIOThreads": 4}) as it:
            ...  # it.service_url, it.web_url; it.stop(), it.kill(), it.start()

``python -m bench.pulsar_standalone`` fetches the jars. A broker listens on two ports of 127.0.0.1,
which stay the same when it is started again.
"""

import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

from bench.bookkeeper_cluster import STARTUP_TIMEOUT_S, BookKeeperCluster, Java, conf_text
from bench.maven import cached
from bench.pulsar_standalone import HERE, JARS_MIN, OPENED, VERSION
from magnetar.testing.ports import free_port

NAME: Final = "lab"
"""The name of the cluster, where no other is asked for."""
REMEDY: Final = "python -m bench.pulsar_standalone"
_NO_SETTINGS: Final[Mapping[str, object]] = MappingProxyType({})
_OPTIONS: Final = [
    *("-Xms128m", "-Xmx512m", "-XX:MaxDirectMemorySize=512m", "-XX:+UseSerialGC"),
    "-XX:TieredStopAtLevel=1",
    *OPENED,
    f"-Dlog4j.configurationFile={HERE / 'log4j2.xml'}",
]
_SETTINGS: Final = {
    "advertisedAddress": "127.0.0.1",
    "bindAddress": "127.0.0.1",
    "managedLedgerDefaultEnsembleSize": 2,
    "managedLedgerDefaultWriteQuorum": 2,
    "managedLedgerDefaultAckQuorum": 2,
    "bookkeeperUseV2WireProtocol": True,
    "bookkeeperNumberOfChannelsPerBookie": 2,
    "metadataStoreSessionTimeoutMillis": 4000,  # So long one that was killed holds its bundles.
    "numIOThreads": 2,
    "numHttpServerThreads": 8,
    "managedLedgerCacheSizeMB": 16,
    "brokerDeleteInactiveTopicsEnabled": False,
    "brokerShutdownTimeoutMs": 10000,
}


def jars() -> Path:
    """The folder with Pulsar's jars, which were fetched before. Raises Missing."""
    return cached(f"pulsar-{VERSION}", jars_min=JARS_MIN, remedy=REMEDY)


def set_up(cluster: BookKeeperCluster, name: str = NAME) -> None:
    """Write what brokers of a new cluster find in ZooKeeper. Raises Missing, RuntimeError.

    There are the tenants ``public`` and ``pulsar`` then, and the namespace ``public/default``.
    """
    zookeeper = f"zk:{cluster.zookeeper.address}"
    command = ["java", *_OPTIONS, "-cp", f"{jars()}/*"]
    command += ["org.apache.pulsar.PulsarClusterMetadataSetup", "--cluster", name]
    command += ["--metadata-store", zookeeper, "--configuration-metadata-store", zookeeper]
    command += ["--existing-bk-metadata-service-uri", cluster.metadata_service_uri]
    # Nobody asks there: brokers of one cluster know each other by what they write in ZooKeeper.
    command += ["--web-service-url", "http://127.0.0.1:1"]
    command += ["--broker-service-url", "pulsar://127.0.0.1:1"]
    command += ["--default-namespace-bundle-number", "4"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=STARTUP_TIMEOUT_S, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the cluster was not set up: {(done.stdout + done.stderr)[-3000:]}")


class PulsarBroker(Java):
    """One broker of a cluster. Leaving the ``with`` block kills it."""

    def __init__(
        self,
        folder: Path,
        cluster: BookKeeperCluster,
        settings: Mapping[str, object] = _NO_SETTINGS,
        *,
        name: str = NAME,
        options: Sequence[str] = _OPTIONS,
    ) -> None:
        """``settings`` go to its ``broker.conf``, ``options`` to its JVM. Raises Missing."""
        port, web_port = free_port(), free_port()
        self.service_url = f"pulsar://127.0.0.1:{port}"
        self.web_url = f"http://127.0.0.1:{web_port}"
        zookeeper = f"zk:{cluster.zookeeper.address}"
        written = {
            **_SETTINGS,
            "clusterName": name,
            "metadataStoreUrl": zookeeper,
            "configurationMetadataStoreUrl": zookeeper,
            "brokerServicePort": port,
            "webServicePort": web_port,
            **settings,
        }
        folder.mkdir(parents=True, exist_ok=True)
        conf = folder / "broker.conf"
        conf.write_text(conf_text(written))
        super().__init__(
            folder,
            "broker.log",
            "org.apache.pulsar.PulsarBrokerStarter",
            *("--broker-conf", str(conf)),
            classes=jars(),
            options=options,
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and return when it serves. Raises RuntimeError with the end of its log."""
        super().start()
        try:
            self.await_ready(self.answers)
        except BaseException:
            self.kill()
            raise

    def answers(self) -> bool:
        """Whether it serves."""
        try:
            with urllib.request.urlopen(f"{self.web_url}/admin/v2/brokers/ready", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False
