"""A worker beside a broker, in this process: what fails half way, or does not come up."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from support.loop import until
from support.thread_jobs import ThreadJobs

from magnetar.client.admin_api import AdminApi
from magnetar.client.client import Client
from magnetar.clock import SystemClock
from magnetar.errors import NotFound, NotReady
from magnetar.functions.worker.admin import Admin
from magnetar.functions.worker.cluster import WorkerCluster
from magnetar.functions.worker.members import Member
from magnetar.functions.worker.metadata import NAMESPACE, FunctionMetaData
from magnetar.functions.worker.multipart import Part
from magnetar.functions.worker.packages import Packages
from magnetar.functions.worker.supervisor import Supervisor
from magnetar.functions.worker.worker import FunctionsWorker
from magnetar.rest.errors import Rejection
from magnetar.tasks import Tasks
from magnetar.testing.local_broker import LocalBroker

FQFN = "public/default/mine"
PACKAGE = Part(b"def process(input):\n    return input\n", "mine.py")
GIVEN = {"className": "mine", "inputs": ["mine-in"]}
NOBODY = "http://127.0.0.1:1"


@asynccontextmanager
async def opened_worker(
    folder: Path, before_start: Callable[[], Awaitable[None]] | None = None
) -> AsyncIterator[FunctionsWorker]:
    """``before_start`` is awaited before each start of a function."""
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(LocalBroker())
        admin = Admin(broker.web_url)
        await admin.prepare(NAMESPACE)
        client = await stack.enter_async_context(Client(broker.service_url))
        cluster = await WorkerCluster.join(
            Member.at(NOBODY), client, admin, options={}, clock=SystemClock(), stack=stack
        )
        packages = Packages(client, admin, folder)

        async def package(record: FunctionMetaData) -> Path:
            if before_start is not None:
                await before_start()
            return await packages.file(record.package, record.file_name)

        supervisor = Supervisor(
            ThreadJobs(broker.service_url, broker.web_url),
            package=package,
            worker="w",
            clock=SystemClock(),
            tasks=Tasks("functions"),
        )
        stack.push_async_callback(supervisor.close)
        worker = FunctionsWorker(
            client=client,
            admin=admin,
            cluster=cluster,
            packages=packages,
            supervisor=supervisor,
            clock=SystemClock(),
        )
        leading = Tasks("functions workers")
        stack.push_async_callback(leading.close)
        await cluster.start(worker, leading)
        yield worker


async def test_a_deletion_that_failed_is_finished_when_it_is_asked_for_again(tmp_path):
    """It fails half way, as the broker does not answer."""
    async with opened_worker(tmp_path) as worker:
        admin, packages = worker._admin, worker.packages
        await worker.create(FQFN, GIVEN, PACKAGE)
        kept = worker.get(FQFN).package
        admin._api, broker_there = AdminApi(NOBODY), admin._api
        with pytest.raises(NotReady, match="no admin API answers"):
            await worker.delete(FQFN)
        await worker.finish_deletions()  # As a leader does that begins: it goes on without it.
        assert worker.names("public", "default") == []
        admin._api = broker_there
        await until(lambda: worker._cluster.leading)  # It resigns where the broker does not answer.
        await worker.delete(FQFN)
        with pytest.raises(NotFound):
            await packages.read(kept)
        assert list(tmp_path.iterdir()) == [], "it is cached no more"
        await worker.create(FQFN, GIVEN, PACKAGE)
        assert worker.names("public", "default") == ["mine"]


async def test_a_trigger_of_a_function_that_is_stopped_before_it_reads_is_refused(tmp_path):
    """It is told so at once, not when the time for an answer is over."""
    starting, never = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        starting.set()
        await never.wait()

    async with opened_worker(tmp_path, hang) as worker:
        creating = asyncio.create_task(worker.create(FQFN, GIVEN, PACKAGE))
        await starting.wait()
        trigger = asyncio.create_task(worker.trigger(FQFN, b"x", None))
        stopping = asyncio.create_task(worker.turn(FQFN, None, running=False))
        with pytest.raises(Rejection, match="is not ready: its status says when it runs"):
            await trigger
        never.set()
        await asyncio.gather(creating, stopping)
