"""Runs a functions worker: opens what it stands on, and answers over HTTP until it is stopped."""

import logging
import socket
from collections.abc import AsyncIterator
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
from magnetar.functions.worker.admin import Admin
from magnetar.functions.worker.cluster import WorkerCluster
from magnetar.functions.worker.jobs import Jobs
from magnetar.functions.worker.members import Member
from magnetar.functions.worker.metadata import NAMESPACE, FunctionMetaData
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
_ANYWHERE: Final = ("", "0.0.0.0", "::")  # noqa: S104 - compared with, not listened on


@asynccontextmanager
async def running_worker(settings: WorkerSettings, jobs: Jobs) -> AsyncIterator[int]:
    """A worker that serves until the block ends, on the port that this brings.

    ``jobs`` run the functions that are assigned to it. Raises NotReady where there is no broker.
    """
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        listener = listen(settings.host, settings.port, "--port")
        stack.callback(listener.close)
        port: int = listener.getsockname()[1]
        if not settings.secret:
            warn_if_open(settings.host, "the functions worker's --host")
        own = Member.at(settings.url or f"http://{_reached(settings.host)}:{port}")
        settings.folder.mkdir(parents=True, exist_ok=True)
        admin = Admin(settings.admin_url, settings.client_options())
        await admin.prepare(NAMESPACE)
        client = await stack.enter_async_context(
            Client(settings.service_url, **settings.client_options())
        )
        cluster = await WorkerCluster.join(
            own, client, admin, options=settings.client_options(), clock=clock, stack=stack
        )
        packages = Packages(client, admin, settings.folder / "packages")

        async def package(record: FunctionMetaData) -> Path:
            return await packages.file(record.package, record.file_name)

        supervisor = Supervisor(
            jobs,
            package=package,
            worker=own.id,
            clock=clock,
            tasks=Tasks("functions"),
        )
        stack.push_async_callback(supervisor.close)
        worker = FunctionsWorker(
            client=client,
            admin=admin,
            cluster=cluster,
            packages=packages,
            supervisor=supervisor,
            clock=clock,
        )
        taking_part = Tasks("functions workers")
        stack.push_async_callback(taking_part.close)
        await cluster.start(worker, taking_part)
        state = States(settings.service_url, settings.admin_url, **settings.client_options())
        services = WorkerServices(worker=worker, state=state, cluster=cluster)
        server = await AdminServer.start(
            Router(Routes(ROUTES), services, ask=services.ask),
            [Listener(listener)],
            Tasks("functions worker's API"),
            body_bytes_max=FORM_BYTES_MAX,
            sign_in=_sign_in(settings.secret, clock) if settings.secret else None,
        )
        stack.push_async_callback(server.close)
        yield port


def _reached(host: str) -> str:
    """How others reach what listens at an address."""
    return socket.gethostname() if host in _ANYWHERE else host


def _sign_in(secret: str, clock: Clock) -> HttpSignIn:
    """Only the broker may ask, which asks its clients who they are, and says for whom it asks."""
    provider = SharedSecretProvider(secret, _BROKER)
    return HttpSignIn(Authentication([provider]), clock, ProxyRules(frozenset({_BROKER})))
