"""Runs a functions worker: opens what it stands on, and answers over HTTP until it is stopped."""

import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from magnetar.auth.authentication import Authentication, SharedSecretProvider
from magnetar.auth.http import HttpSignIn
from magnetar.auth.proxies import ProxyRules
from magnetar.broker.addresses import listen, warn_if_open
from magnetar.broker.admin.routes.functions import FORM_BYTES_MAX
from magnetar.client.client import Client
from magnetar.clock import Clock, SystemClock
from magnetar.errors import MagnetarError
from magnetar.functions.worker.admin import Admin
from magnetar.functions.worker.jobs import Jobs
from magnetar.functions.worker.metadata import NAMESPACE, FunctionMetaData
from magnetar.functions.worker.metadata_topic import MetadataTopic
from magnetar.functions.worker.packages import Packages
from magnetar.functions.worker.routes import ROUTES, WorkerServices
from magnetar.functions.worker.settings import WorkerSettings
from magnetar.functions.worker.states import States
from magnetar.functions.worker.supervisor import Supervisor
from magnetar.functions.worker.worker import FunctionsWorker
from magnetar.rest.listener import Listener
from magnetar.rest.router import Router, Routes
from magnetar.rest.server import AdminServer
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)

_BROKER: Final = "broker"


@asynccontextmanager
async def running_worker(
    settings: WorkerSettings,
    jobs: Jobs,
    *,
    on_lost: Callable[[MagnetarError], None] | None = None,
) -> AsyncIterator[int]:
    """A worker that serves until the block ends, on the port that this brings.

    ``jobs`` run the functions. ``on_lost`` is called when another worker has taken the functions
    over: then the block has to end, as both run them. Raises NotReady when there is no broker, or
    another worker.
    """
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        listener = listen(settings.host, settings.port, "--port")
        stack.callback(listener.close)
        port: int = listener.getsockname()[1]
        if not settings.secret:
            warn_if_open(settings.host, "the functions worker's --host")
        worker_id = f"magnetar-fw-{socket.gethostname()}-{port}"
        settings.folder.mkdir(parents=True, exist_ok=True)
        admin = Admin(settings.admin_url, settings.client_options())
        await admin.prepare(NAMESPACE)
        client = await stack.enter_async_context(
            Client(settings.service_url, **settings.client_options())
        )
        metadata = await stack.enter_async_context(await MetadataTopic.open(client))
        packages = Packages(client, admin, settings.folder / "packages")

        async def package(record: FunctionMetaData) -> Path:
            return await packages.file(record.package, record.file_name)

        supervisor = Supervisor(
            jobs,
            package=package,
            worker=worker_id,
            clock=clock,
            tasks=Tasks("functions"),
        )
        stack.push_async_callback(supervisor.close)
        worker = FunctionsWorker(
            client=client,
            admin=admin,
            metadata=metadata,
            packages=packages,
            supervisor=supervisor,
            clock=clock,
        )
        watching = Tasks("functions worker's place")
        stack.push_async_callback(watching.close)
        if on_lost is not None:
            watching.spawn("lost", _watch(metadata, clock, on_lost))
        await worker.resume()
        info = {"workerId": worker_id, "workerHostname": settings.host, "port": port}
        state = States(settings.service_url, settings.admin_url, **settings.client_options())
        services = WorkerServices(worker=worker, state=state, info=info)
        server = await AdminServer.start(
            Router(Routes(ROUTES), services),
            [Listener(listener)],
            Tasks("functions worker's API"),
            body_bytes_max=FORM_BYTES_MAX,
            sign_in=_sign_in(settings.secret, clock) if settings.secret else None,
        )
        stack.push_async_callback(server.close)
        yield port


async def _watch(
    metadata: MetadataTopic, clock: Clock, on_lost: Callable[[MagnetarError], None]
) -> None:
    on_lost(await metadata.lost(clock))


def _sign_in(secret: str, clock: Clock) -> HttpSignIn:
    """Only the broker may ask, which asks its clients who they are, and says for whom it asks."""
    provider = SharedSecretProvider(secret, _BROKER)
    return HttpSignIn(Authentication([provider]), clock, ProxyRules(frozenset({_BROKER})))
