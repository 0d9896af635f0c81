"""How ``make test`` divides the tests among its processes: by file, what takes longest first.

There are two processes for each core, since half of the tests wait for something most of the time.
"""

import gc
import os
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

TOGETHER = ("tests/architecture/", "tests/contract/", "tests/examples/")
"""Folders whose tests share what takes long to make."""

SPARK = ("tests/spark/",)
CLUSTER = (
    "tests/contract/",
    "tests/cluster/test_broker_on_cluster.py",
    "tests/cluster/test_moves.py",
    "tests/cluster/test_proxy.py",
    "tests/cluster/test_real_stores.py",
    "tests/cluster/test_stores_seen.py",
    "tests/cluster/test_topic_policies.py",
)
SHARED = (SPARK, CLUSTER)
"""One process runs each: what its files share, a Spark or a real ZooKeeper server with bookies,
takes memory, and 10 or 20 s of CPU."""

FIRST = (
    *SPARK,
    *CLUSTER,
    "tests/faults/",
    "tests/documents/",
    "tests/examples/",
    "tests/crash/",
    "tests/offload/",
    "tests/functions/",
    "tests/compatibility/",
    "tests/limits/",
    "tests/client/",
    "tests/unit/tools/",
    "tests/properties/",
    "tests/cluster/",
)
"""Their tests wait for processes. Begun last, a long one would be all that still runs."""

OFFICIAL = ("tests/client/", "tests/compatibility/")
"""Folders whose tests run the official client in their process, which its C++ at times crashes."""


gc.disable()  # Until all are collected: half a million objects, and each stays.


class ByFile(LoadScopeScheduling):
    """Tests of one file share a broker, so one process runs them."""

    def __init__(self, config, log):
        super().__init__(config, log)
        self._crashed = set()

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)

    def remove_node(self, node):
        """Pass on what a crashed process has left, and return its test, which has failed, or None.

        A file that it had ended is not passed on: a process would have nothing to do with it, and
        never ask for another. A test with the official client is tried a second time.
        """
        files = self.assigned_work[node]
        for file in [file for file, ended in files.items() if all(ended.values())]:
            del files[file]
        tests = ((test, file) for file in files for test, ended in files[file].items() if not ended)
        test, file = next(tests, (None, None))
        again = test and test.startswith(OFFICIAL) and test not in self._crashed
        if test and not again:
            files[file][test] = True
        self._crashed.add(test)
        super().remove_node(node)
        return None if again else test

    def _assign_work_unit(self, node):
        if node not in self.registered_collections:
            return  # It takes the place of one that crashed, and asks when it knows the tests.
        scope = next((scope for scope in self.workqueue if self._runs(node, scope)), None)
        if scope is not None:
            self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    def _runs(self, node, scope):
        """Whether it is one that others would have to make again what its tests share."""
        for place, files in enumerate(SHARED):
            if scope.startswith(files):
                return node in self.nodes[: place + 1][-1:]
        return True


def pytest_xdist_auto_num_workers(config):
    """``-n logical`` is a process for each core, for tests that do not wait."""
    return (os.cpu_count() or 1) * (1 if config.option.numprocesses == "logical" else 2)


def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False  # They are in order already.
    return ByFile(config, log)


def pytest_collection_finish():
    """All tests that there are stay: tests that collect pass over them."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """Each process begins with other files: what one has compiled the others find."""
    config = session.config
    if hasattr(config, "workerinput"):
        files = [file for each in config.args for file in _files(each)]
        share, count = int(config.workerinput["workerid"][2:]), config.workerinput["workercount"]
        at = len(files) * share // count
        config.args = files[at:] + files[:at]


def _files(argument: str) -> list[str]:
    return sorted(map(str, Path(argument).rglob("test_*.py"))) or [argument]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: _turn(item.nodeid))


def _turn(nodeid: str) -> tuple[int, str]:
    places = (place for place, folder in enumerate(FIRST) if nodeid.startswith(folder))
    return next(places, len(FIRST)), nodeid.partition("::")[0]
