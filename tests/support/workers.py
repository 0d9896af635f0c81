"""How ``make test`` divides the tests among its processes: by file, what takes longest first."""

import gc

import pytest
from xdist.scheduler import LoadScopeScheduling

TOGETHER = ("tests/architecture/", "tests/faults/", "tests/examples/")
"""Folders whose tests share what takes long to make."""

FIRST = ("tests/spark/", "tests/crash/", "tests/compatibility/", "tests/limits/", "tests/faults/")
"""Their tests wait for processes. Begun last, a long one would be all that still runs.

Each process has one Spark, which its files of ``tests/spark`` share."""


gc.disable()  # Until all are collected: half a million objects, and each stays.


class ByFile(LoadScopeScheduling):
    """Tests of one file share a broker, so one process runs them."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)


def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False  # They are in order already.
    return ByFile(config, log)


def pytest_collection_finish():
    """All tests that there are stay: tests that collect pass over them."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: _turn(item.nodeid))


def _turn(nodeid: str) -> int:
    places = (place for place, folder in enumerate(FIRST) if nodeid.startswith(folder))
    return next(places, len(FIRST))
