"""A functions worker as a process, without Spark: ``python -m support.thread_worker`` and settings.

It prints a line when it is ready.
"""

import asyncio
import sys
from pathlib import Path

from support.thread_jobs import ThreadJobs

from magnetar.functions.worker.server import running_worker
from magnetar.functions.worker.settings import WorkerSettings


async def serve(service_url: str, admin_url: str, folder: str, port: str) -> None:
    settings = WorkerSettings(service_url, admin_url, Path(folder), port=int(port))
    async with running_worker(settings, ThreadJobs(service_url, admin_url)):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
