"""A function whose deletion fails half way, as the broker does not answer."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from support.thread_jobs import ThreadJobs

from magnetar.client.admin_api import AdminApi
from magnetar.client.client import Client
from magnetar.clock import SystemClock
from magnetar.errors import NotFound, NotReady
from magnetar.functions.worker.admin import Admin
from magnetar.functions.worker.metadata import NAMESPACE, FunctionMetaData
from magnetar.functions.worker.metadata_topic import MetadataTopic
from magnetar.functions.worker.multipart import Part
from magnetar.functions.worker.packages import Packages
from magnetar.functions.worker.supervisor import Supervisor
from magnetar.functions.worker.worker import FunctionsWorker
from magnetar.tasks import Tasks
from magnetar.testing.local_broker import LocalBroker

FQFN = "public/default/undeletable"
PACKAGE = Part(b"def process(input):\n    return input\n", "undeletable.py")
GIVEN = {"className": "undeletable", "inputs": ["undeletable-in"]}
NOBODY = "http://127.0.0.1:1"


async def test_a_deletion_that_failed_is_finished_when_it_is_asked_for_again(tmp_path):
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(LocalBroker())
        admin = Admin(broker.web_url)
        await admin.prepare(NAMESPACE)
        client = await stack.enter_async_context(Client(broker.service_url))
        metadata = await stack.enter_async_context(await MetadataTopic.open(client))
        packages = Packages(client, admin, tmp_path)

        async def package(record: FunctionMetaData) -> Path:
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
            metadata=metadata,
            packages=packages,
            supervisor=supervisor,
            clock=SystemClock(),
        )
        await worker.create(FQFN, GIVEN, PACKAGE)
        kept = worker.get(FQFN).package
        admin._api, broker_there = AdminApi(NOBODY), admin._api
        with pytest.raises(NotReady, match="no admin API answers"):
            await worker.delete(FQFN)
        await worker.resume()  # As a worker does that starts: it goes on without it.
        assert worker.names("public", "default") == []
        admin._api = broker_there
        await worker.delete(FQFN)
        with pytest.raises(NotFound):
            await packages.read(kept)
        assert list(tmp_path.iterdir()) == [], "it is cached no more"
        await worker.create(FQFN, GIVEN, PACKAGE)
        assert worker.names("public", "default") == ["undeletable"]
