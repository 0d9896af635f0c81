"""A real ZooKeeper server and real bookies, once for each process of tests.

``make cluster-jars`` fetches what they need; where nobody did that, their tests are skipped.
"""

import os

import pytest

from bench.bookkeeper_cluster import BookKeeperCluster, ZooKeeperServer
from bench.maven import Missing
from bench.pulsar_on_cluster import jars as pulsar_jars
from bench.pulsar_on_cluster import set_up


def only_on_request():
    """Skip what takes a minute or more, but for ``make test-cluster``."""
    if not os.environ.get("ON_CLUSTER"):
        pytest.skip("make test-cluster")


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory):
    try:
        server = ZooKeeperServer(tmp_path_factory.mktemp("zookeeper"))
    except Missing as error:
        pytest.skip(str(error))
    with server:
        yield server


def cluster_in(folder, **options):
    """Bookies and their ZooKeeper server, to be started; skips where they were not fetched."""
    try:
        return BookKeeperCluster(folder, **options)
    except Missing as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """Three bookies and their ZooKeeper server."""
    with cluster_in(tmp_path_factory.mktemp("bookkeeper")) as bookies:
        yield bookies


@pytest.fixture
def own_cluster(tmp_path):
    """The same for one test alone, which others would miss."""
    only_on_request()
    with cluster_in(tmp_path / "cluster") as bookies:
        yield bookies


@pytest.fixture(scope="session")
def pulsar_cluster(request):
    """The same, with what brokers of Apache Pulsar need in ZooKeeper."""
    only_on_request()
    try:
        pulsar_jars()
    except Missing as error:
        pytest.skip(str(error))
    bookies = request.getfixturevalue("cluster")
    set_up(bookies)
    return bookies
