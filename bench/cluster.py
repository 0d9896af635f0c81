"""A cluster on this machine by one command: ZooKeeper, three bookies and a broker.

    make cluster                      # Ctrl-C ends it, and leaves nothing.
    make cluster ARGS="--port 6650"

Everything listens on 127.0.0.1. What is stored is in build/cluster while it runs.
"""

import argparse
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from rich.console import Console

from bench.bookkeeper_cluster import BookKeeperCluster, conf_text, fetch
from bench.maven import Missing
from magnetar.testing.processes import free_port

FOLDER: Final = Path("build") / "cluster"
_CLI: Final = [sys.executable, "-m", "magnetar.tools.cli"]


def main() -> int:
    """Run it until Ctrl-C, or until the broker ends; its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="of the broker [a free one]")
    parser.add_argument("--http-port", type=int, default=0, help="of its admin API [a free one]")
    parser.add_argument("--bookies", type=int, default=3)
    given = parser.parse_args()
    console = Console()
    try:
        fetch()
    except Missing as error:
        console.print(str(error))
        return 1
    shutil.rmtree(FOLDER, ignore_errors=True)
    port, web_port = given.port or free_port(), given.http_port or free_port()
    try:
        with ExitStack() as stack:
            with console.status(f"Starting ZooKeeper and {given.bookies} bookies"):
                cluster = BookKeeperCluster(FOLDER.absolute(), given.bookies)
                stack.enter_context(cluster)
            return _serve(console, cluster, port, web_port)
    except KeyboardInterrupt:
        return 0
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)


def _serve(console: Console, cluster: BookKeeperCluster, port: int, web_port: int) -> int:
    conf = FOLDER / "broker.conf"
    zookeeper = f"zk:{cluster.zookeeper.address}"
    settings = {
        "metadataStoreUrl": zookeeper,
        "clusterName": "here",
        "brokerServicePort": port,
        "webServicePort": web_port,
        "bindAddress": "127.0.0.1",
        "advertisedAddress": "127.0.0.1",
        "transactionCoordinatorEnabled": True,
    }
    conf.write_text(conf_text(settings))
    initialize = ["initialize-cluster-metadata", "-c", "here", "-md", zookeeper]
    initialize += ["-uw", f"http://127.0.0.1:{web_port}", "-ub", f"pulsar://127.0.0.1:{port}"]
    subprocess.run([*_CLI, *initialize], check=True, stdout=subprocess.DEVNULL)
    console.print(f"ZooKeeper {cluster.zookeeper.address}")
    for bookie in cluster.bookies:
        console.print(f"bookie    {bookie.bookie_id}")
    console.print(f"settings  {conf}")
    broker = subprocess.Popen([*_CLI, "broker", "--conf", str(conf)])
    try:
        return broker.wait()
    except KeyboardInterrupt:
        return broker.wait()  # It was asked to end, too.


if __name__ == "__main__":
    sys.exit(main())
