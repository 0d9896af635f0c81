"""A functions worker in this process."""

import asyncio
import threading

from magnetar.functions.worker.jobs import Jobs
from magnetar.functions.worker.server import running_worker
from magnetar.functions.worker.settings import WorkerSettings


class WorkerThread:
    """A worker with its event loop in a thread."""

    def __init__(self, settings: WorkerSettings, jobs: Jobs) -> None:
        self._settings = settings
        self._jobs = jobs
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
        try:
            async with running_worker(self._settings, self._jobs) as self._port:
                self._ready.set()
                await self._stop.wait()
        except Exception as error:  # noqa: BLE001 - the thread that waits raises it
            self._error = error
            self._ready.set()
