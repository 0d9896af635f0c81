"""Every broker of the tests as several processes on one folder.

``BY_PROCESSES=2 pytest tests/compatibility``. A test that has a broker in a thread gets processes
in its place, with a folder that ends with it; one that looks into the broker in its own process
cannot be had so, nor can one with a disk that fails.
"""

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from magnetar.testing.local_broker import BrokerThread
from magnetar.testing.processes import BrokerProcess

WANTED = os.environ.get("BY_PROCESSES")

ALONE = {
    "tests/client/test_backlog_quotas.py": (
        "a quota is checked as soon as it is set, by a process that has not heard of it yet"
    ),
    "tests/client/test_lost_at_close.py::test_ctrl_c_ends_a_program_whose_broker_has_stopped": (
        "the process that it stops looks after the others, which go on"
    ),
    "tests/client/test_tls.py": (
        "what ends TLS before them says that each has its own address: see tests/processes"
    ),
    "tests/compatibility/test_advertised_address.py": "the broker is in the process of the test",
    "tests/compatibility/test_skipped_readers.py": "what the broker logs is looked for in the test",
    "tests/compatibility/test_traces.py": "what the broker traces is looked for in the test",
}
"""Beginnings of tests that ask for one process, each with the reason."""


def pytest_collection_modifyitems(items):
    if WANTED:
        for item in items:
            for beginning, reason in ALONE.items():
                if item.nodeid.startswith(beginning):
                    item.add_marker(pytest.mark.skip(reason=reason))


def pytest_configure():
    if WANTED:
        _have_processes_many()
        _have_threads_be_processes()


def _have_processes_many():
    begin = BrokerProcess.__init__

    def init(self, folder, *, settings=None, **others):
        many = {"processes": WANTED, **(settings or {})}
        many.setdefault("advertisedAddress", "127.0.0.1")
        begin(self, folder, settings=many, **others)

    BrokerProcess.__init__ = init


def _have_threads_be_processes():
    def init(self, data_directory=None, *, settings=None, files=None):
        assert files is None, "a disk of the test's own is in the test's own process"
        self._folder, self._settings = data_directory, dict(settings or {})
        self._settings.pop("storageInMemory", None)
        self._stack = ExitStack()

    def enter(self):
        folder = self._folder
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="magnetar-processes-")
            folder = Path(self._stack.enter_context(temporary)) / "data"
        process = self._stack.enter_context(BrokerProcess(folder, settings=self._settings))
        self.service_url, self.web_url = process.service_url, process.web_url
        return self

    def leave(self, *_):
        self._stack.close()

    BrokerThread.__init__, BrokerThread.__enter__, BrokerThread.__exit__ = init, enter, leave
