"""The worker that leads, where others keep it from writing, as after a cut of the network."""

import pytest
from support.elsewhere import until_elsewhere
from support.thread_jobs import ThreadJobs

from magnetar.broker.admin.functions_worker import FunctionsWorkerProcess
from magnetar.client.admin_api import AsyncAdminApi
from magnetar.client.client import Client
from magnetar.clock import SystemClock
from magnetar.errors import InvalidValue, MagnetarError
from magnetar.functions.worker.admin import Admin
from magnetar.functions.worker.metadata import NAMESPACE, TOPIC
from magnetar.functions.worker.server import running_worker
from magnetar.functions.worker.settings import WorkerSettings
from magnetar.model.producers import ProducerAccessMode
from magnetar.rest.exchange import Request
from magnetar.testing.local_broker import BrokerThread


async def test_it_leads_no_more_when_another_has_its_topic_and_again_when_that_has_gone(tmp_path):
    fencing = ProducerAccessMode.EXCLUSIVE_WITH_FENCING
    with BrokerThread() as broker:
        urls = broker.service_url, broker.web_url
        settings = WorkerSettings(*urls, tmp_path, port=0)
        async with running_worker(settings, ThreadJobs(*urls)) as port:
            api = AsyncAdminApi(f"http://127.0.0.1:{port}")

            async def until_it_says(wanted: str) -> None:
                said = ""
                while wanted not in said:
                    try:
                        said = str(await api.send("GET", "/admin/v3/functions/public/default"))
                    except MagnetarError as error:
                        said = str(error)

            await until_it_says("[]")
            async with Client(broker.service_url) as client:
                async with await client.create_producer(TOPIC, access_mode=fencing):
                    await until_it_says("Leader not yet ready")
                await until_it_says("[]")


async def test_a_second_worker_of_the_same_address_is_refused(tmp_path):
    with BrokerThread() as broker:
        urls = broker.service_url, broker.web_url
        settings = WorkerSettings(*urls, tmp_path, port=0, url="http://127.0.0.1:6750")
        async with running_worker(settings, ThreadJobs(*urls)):
            jobs = ThreadJobs(*urls)
            with pytest.raises(InvalidValue, match=r"has the address http://127\.0\.0\.1:6750"):
                async with running_worker(settings, jobs):
                    pytest.fail("it runs")
            jobs.close()
        async with running_worker(settings, ThreadJobs(*urls)):
            pass  # It may be started again.


async def test_a_worker_that_a_broker_starts_waits_until_it_can_lead(tmp_path):
    with BrokerThread() as broker:
        await Admin(broker.web_url).prepare(NAMESPACE)
        urls = broker.service_url, broker.web_url
        worker = FunctionsWorkerProcess(*urls, tmp_path, SystemClock())
        log_file = tmp_path / "worker.log"

        def waits() -> bool:
            return log_file.exists() and "another functions worker" in log_file.read_text()

        exclusive = ProducerAccessMode.EXCLUSIVE
        async with Client(broker.service_url) as client:
            async with await client.create_producer(TOPIC, access_mode=exclusive):
                worker.start()
                await until_elsewhere(waits, "it did not try to lead")
            await until_elsewhere((tmp_path / "worker.ready").exists, "it did not lead")
        try:
            ready = await worker.answer(Request("GET", "/admin/v2/worker/cluster/leader/ready"))
            assert ready.body == b"true"
        finally:
            await worker.close()
