"""A cluster on this machine by one command: ZooKeeper, three bookies, two brokers and a proxy.

    make cluster                      # Ctrl-C ends it, and leaves nothing.
    make cluster ARGS="--port 6650 --brokers 3"

Everything listens on 127.0.0.1. What is stored is in build/cluster while it runs. A broker may be
killed, to see what becomes of its topics.
"""

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from rich.console import Console

from bench.bookkeeper_cluster import BookKeeperCluster, conf_text, fetch
from bench.maven import Missing
from magnetar.testing.ports import free_port

FOLDER: Final = Path("build") / "cluster"
_CLI: Final = [sys.executable, "-m", "magnetar.tools.cli"]
_HERE: Final = {"bindAddress": "127.0.0.1", "advertisedAddress": "127.0.0.1"}


def main() -> int:
    """Run it until Ctrl-C, or until the proxy or all brokers end; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="of the proxy [a free one]")
    parser.add_argument("--http-port", type=int, default=0, help="of its admin API [a free one]")
    parser.add_argument("--bookies", type=int, default=3)
    parser.add_argument("--brokers", type=int, default=2)
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
            return _serve(console, cluster, given.brokers, port, web_port)
    except KeyboardInterrupt:
        return 0
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)


def _serve(
    console: Console, cluster: BookKeeperCluster, brokers: int, port: int, web_port: int
) -> int:
    store = {"metadataStoreUrl": f"zk:{cluster.zookeeper.address}", "clusterName": "here"}
    console.print(f"ZooKeeper {cluster.zookeeper.address}")
    for bookie in cluster.bookies:
        console.print(f"bookie    {bookie.bookie_id}")
    initialize = ["initialize-cluster-metadata", "-c", "here", "-md", store["metadataStoreUrl"]]
    initialize += ["-uw", f"http://127.0.0.1:{web_port}", "-ub", f"pulsar://127.0.0.1:{port}"]
    subprocess.run([*_CLI, *initialize], check=True, stdout=subprocess.DEVNULL)
    running: dict[str, subprocess.Popen[bytes]] = {}
    for number in range(1, brokers + 1):
        ports = {"brokerServicePort": free_port(), "webServicePort": free_port()}
        more = {"transactionCoordinatorEnabled": True}
        running[f"broker-{number}"] = _started(
            "broker", FOLDER / f"broker-{number}.conf", {**store, **_HERE, **ports, **more}
        )
    ports = {"servicePort": port, "webServicePort": web_port}
    url = {"metadataStoreUrl": store["metadataStoreUrl"]}
    running["proxy"] = _started("proxy", FOLDER / "proxy.conf", {**url, **_HERE, **ports})
    for name, process in running.items():
        console.print(f"{name:9} process {process.pid}, settings {FOLDER / name}.conf")
    try:
        return _wait(console, running)
    except KeyboardInterrupt:  # All were asked to end.
        return max(process.wait() for process in running.values())


def _started(what: str, conf: Path, settings: Mapping[str, object]) -> subprocess.Popen[bytes]:
    conf.write_text(conf_text(settings))
    return subprocess.Popen([*_CLI, what, "--conf", str(conf)])


def _wait(console: Console, running: dict[str, subprocess.Popen[bytes]]) -> int:
    """Wait until the proxy has ended, or the last broker; say of each one when it has."""
    while True:
        for name, process in list(running.items()):
            code = process.poll()
            if code is not None:
                console.print(f"{name} ended ({code})")
                del running[name]
                if "proxy" not in running or len(running) == 1:
                    for other in running.values():
                        other.terminate()
                    return max([code, *(other.wait() for other in running.values())])
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main())
