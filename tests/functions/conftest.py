"""A broker and a functions worker in this process, for all tests here; functions run in threads.

Each test has functions and topics of its own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.thread_jobs import ThreadJobs
from support.worker_thread import WorkerThread

from magnetar.client import blocking
from magnetar.client.admin_api import AdminApi
from magnetar.functions.worker.settings import WorkerSettings
from magnetar.testing.local_broker import BrokerThread
from magnetar.tools.functions.api import FunctionsApi


@dataclass(frozen=True)
class Running:
    """Where the broker and its worker are."""

    service_url: str
    broker_url: str
    worker_url: str

    @property
    def api(self) -> FunctionsApi:
        return FunctionsApi(AdminApi(self.worker_url))


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with BrokerThread() as broker:
        settings = WorkerSettings(
            service_url=broker.service_url,
            admin_url=broker.web_url,
            folder=tmp_path_factory.mktemp("worker"),
            port=0,
        )
        jobs = ThreadJobs(broker.service_url, broker.web_url)
        with WorkerThread(settings, jobs) as url:
            yield Running(broker.service_url, broker.web_url, url)


@pytest.fixture
def api(running: Running) -> FunctionsApi:
    return running.api


@pytest.fixture
def client(running: Running) -> Iterator[blocking.Client]:
    with blocking.Client(running.service_url) as connected:
        yield connected


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return request.node.name.replace("[", "-").replace("]", "")


@pytest.fixture
def code(tmp_path: Path, name: str) -> Callable[..., str]:
    """Writes a function's file. In one process no two functions have a module of one name."""

    def write(text: str = "def process(input):\n    return str(int(input) * 2)\n") -> str:
        file = tmp_path / f"{name}.py"
        file.write_text(text)
        return str(file)

    return write
