"""The worker that a broker starts for the functions that it has, where it does not come up."""

from support.elsewhere import until_elsewhere

from magnetar.broker.admin.functions_worker import FunctionsWorkerProcess
from magnetar.client.client import Client
from magnetar.clock import SystemClock
from magnetar.functions.worker.admin import Admin
from magnetar.functions.worker.metadata import NAMESPACE
from magnetar.functions.worker.metadata_topic import MetadataTopic
from magnetar.rest.exchange import Request
from magnetar.testing.local_broker import BrokerThread


async def test_it_is_tried_again_when_the_worker_of_a_broker_before_has_ended(tmp_path):
    with BrokerThread() as broker:
        await Admin(broker.web_url).prepare(NAMESPACE)
        urls = broker.service_url, broker.web_url
        worker = FunctionsWorkerProcess(*urls, tmp_path, SystemClock())
        log_file = tmp_path / "worker.log"

        def refused() -> bool:
            return log_file.exists() and "another functions worker" in log_file.read_text()

        async with Client(broker.service_url) as client:
            async with await MetadataTopic.open(client):
                worker.start()
                await until_elsewhere(refused, "the first start was not refused")
            ready_file = tmp_path / "worker.ready"
            await until_elsewhere(ready_file.exists, "there was no second start")
        try:
            ready = await worker.answer(Request("GET", "/admin/v2/worker/cluster/leader/ready"))
            assert ready.body == b"true"
        finally:
            await worker.close()
