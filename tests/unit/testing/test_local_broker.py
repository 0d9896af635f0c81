import json
import urllib.request
from pathlib import Path

import pytest
from support.network import WireConnection

from magnetar.errors import InvalidValue
from magnetar.testing.local_broker import BrokerThread, LocalBroker, config_for

CONNECT = bytes.fromhex("000000160000001208021 20e0a0a676f6c64656e2d312e302015".replace(" ", ""))


async def test_a_broker_in_the_loop_answers_a_connect():
    async with LocalBroker() as broker:
        connection = await WireConnection.open("127.0.0.1", broker.port)
        connection.send(CONNECT)
        answer = await connection.receive()
        assert answer[9] == 3  # CONNECTED
        connection.close()
        assert broker.service_url == f"pulsar://127.0.0.1:{broker.port}"


async def test_two_brokers_live_side_by_side():
    async with LocalBroker() as one, LocalBroker() as two:
        assert len({one.port, one.web_port, two.port, two.web_port}) == 4


def test_a_broker_in_a_thread_serves_blocking_callers():
    with BrokerThread() as broker:
        url = f"{broker.web_url}/lookup/v2/topic/persistent/public/default/x"
        with urllib.request.urlopen(url, timeout=5) as response:
            assert json.load(response)["brokerUrl"] == broker.service_url


def test_a_wrong_setting_is_refused_before_anything_starts():
    with pytest.raises(InvalidValue, match="activeConsumerFailoverDelayTimeMillis"):
        LocalBroker(settings={"activeConsumerFailoverDelayTimeMillis": -1})


def test_a_folder_is_used_where_one_is_given(tmp_path):
    assert config_for(None, {}).storage.in_memory
    stored = config_for(tmp_path, {"durability": "none"}).storage
    assert (stored.in_memory, stored.data_directory) == (False, Path(tmp_path))
    assert stored.durability == "none"
