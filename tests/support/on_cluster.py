"""Every broker of the tests on one real ZooKeeper server and three real bookies.

``ON_CLUSTER=1 pytest tests/client``, or ``make test-cluster``. A broker has a path of its own in
ZooKeeper, by its data folder, so that one that is started again finds what was there. What tests
of files and of stores ask of ``dataDirectory`` is not there: ``make test-cluster`` has the others.
"""

import hashlib
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from bench.bookkeeper_cluster import BookKeeperCluster
from magnetar.testing import local_broker
from magnetar.testing.processes import BrokerProcess

WANTED = "ON_CLUSTER"
WHERE = "ON_CLUSTER_ZOOKEEPER"
"""Set by the first process of a run for the others."""


ALONE = {
    "tests/compatibility/test_traces.py": "the parts of a sync are those of the local log",
    "tests/golden/metrics": "there are no figures of the local log",
    "tests/golden/test_wire.py::test_a_listed_difference": "some recordings are passed over",
    "tests/golden/test_wire.py::test_our_broker_answers_as_pulsar_did[compaction": (
        "the recording asks before compaction has ended at bookies"
    ),
    "tests/golden/test_wire.py::test_our_broker_answers_as_pulsar_did[frame-limit": (
        "an entry that is too large for a bookie is refused, where Pulsar closes its producer"
    ),
    "tests/functions/test_functions_of_a_broker.py::test_the_broker_starts": (
        "a broker of a cluster has its worker at once"
    ),
    "tests/unit": "they are of one file of the source, not of stores",
}
"""Beginnings of tests that ask for a broker that is alone, each with the reason."""


def on_cluster():
    """Whether the brokers of the tests are on a cluster."""
    return bool(os.environ.get(WANTED))


def pytest_collection_modifyitems(items):
    if on_cluster():
        for item in items:
            for beginning, reason in ALONE.items():
                if item.nodeid.startswith(beginning):
                    item.add_marker(pytest.mark.skip(reason=reason))


def pytest_configure(config):
    if not on_cluster():
        return
    if WHERE not in os.environ:
        stack = ExitStack()
        config.add_cleanup(stack.close)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="magnetar-cluster-"))
        cluster = stack.enter_context(BookKeeperCluster(Path(folder)))
        os.environ[WHERE] = cluster.zookeeper.address
    _put_on(os.environ[WHERE])


def _put_on(zookeeper):
    alone, begin = local_broker.config_for, BrokerProcess.__init__

    def config_for(folder, settings):
        return alone(folder or Path("none"), _with_stores(zookeeper, folder, settings))

    def init(self, folder, *, settings=local_broker.NOTHING_SET, **others):
        begin(self, folder, settings=_with_stores(zookeeper, folder, settings), **others)

    local_broker.config_for = config_for
    BrokerProcess.__init__ = init


def _with_stores(zookeeper, folder, settings):
    if "metadataStoreUrl" in settings:
        return settings
    name = hashlib.sha256(str(folder).encode()).hexdigest()[:16] if folder else uuid4().hex
    return {
        "metadataStoreUrl": f"zk:{zookeeper}/{name}",
        "bookkeeperMetadataServiceUri": f"zk+hierarchical://{zookeeper}/ledgers",
        **{key: value for key, value in settings.items() if key != "storageInMemory"},
    }
