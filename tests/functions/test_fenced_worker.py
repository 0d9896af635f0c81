"""A functions worker whose place another has taken, as after a partition of the network."""

import asyncio

import pytest
from support.elsewhere import until_elsewhere

from magnetar import Client
from magnetar.errors import NotReady
from magnetar.functions.worker.metadata import TOPIC
from magnetar.functions.worker.settings import WorkerSettings
from magnetar.model.producers import ProducerAccessMode
from magnetar.testing.local_broker import BrokerThread
from magnetar.tools.functions.run import serve

FENCING = ProducerAccessMode.EXCLUSIVE_WITH_FENCING


async def test_it_notices_without_writing_and_ends(tmp_path):
    with BrokerThread() as broker:
        settings = WorkerSettings(broker.service_url, broker.web_url, tmp_path / "fw", port=0)
        worker = asyncio.create_task(serve(settings, tmp_path / "ready", until_eof=False))
        async with Client(broker.service_url) as client:
            await until_elsewhere((tmp_path / "ready").exists, "the worker has not started")
            async with await client.create_producer(TOPIC, access_mode=FENCING):
                with pytest.raises(NotReady, match="another functions worker has taken over"):
                    await asyncio.wait_for(worker, 20)
