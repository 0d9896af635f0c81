"""A broker and a functions worker in this process, for all tests here; functions run in threads.

Each test has functions and topics of its own.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.thread_jobs import ThreadJobs

from magnetar.client import blocking
from magnetar.functions.worker.server import running_worker
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
        return FunctionsApi(self.worker_url)


class WorkerThread:
    """A worker with its event loop in a thread."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._ready = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> str:
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            raise self._error
        return f"http://127.0.0.1:{self._port}"

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        jobs = ThreadJobs(self._settings.service_url, self._settings.admin_url)
        try:
            async with running_worker(self._settings, jobs) as self._port:
                self._ready.set()
                await self._stop.wait()
        except Exception as error:  # noqa: BLE001 - the thread that waits raises it
            self._error = error
            self._ready.set()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with BrokerThread() as broker:
        settings = WorkerSettings(
            service_url=broker.service_url,
            admin_url=broker.web_url,
            folder=tmp_path_factory.mktemp("worker"),
            port=0,
        )
        with WorkerThread(settings) as url:
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
