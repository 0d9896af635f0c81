"""The data folder goes while a broker runs on it: its files stay open, and nothing is kept."""

import json
import shutil
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pulsar
import pytest
from faults.folders import open_client
from support.logs import until_process_logged

from magnetar.testing.processes import BrokerProcess

pytestmark = [pytest.mark.crash, pytest.mark.timeout(120)]

TOPIC = "persistent://public/default/t"


def ask(broker, path, method="GET"):
    """The status of an admin request, and what it said."""
    try:
        with urlopen(
            Request(f"{broker.web_url}/admin/v2/{path}", method=method), timeout=20
        ) as got:
            return got.status, got.read().decode()
    except HTTPError as refused:
        return refused.code, refused.read().decode()


def replace(folder):
    """As a clean-up does that makes the folder anew."""
    shutil.rmtree(folder)
    (folder / "ledgers").mkdir(parents=True)
    (folder / "ledgers" / "lock").touch()


GONE = {
    "deleted": shutil.rmtree,
    "moved": lambda folder: folder.rename(folder.with_name("elsewhere")),
    "replaced": replace,
}


@pytest.mark.parametrize("how", GONE)
def test_nothing_is_answered_once_the_data_folder_is_gone(tmp_path, how):
    folder = tmp_path / "data"
    with BrokerProcess(folder, beside=tmp_path) as broker:
        client = open_client(broker, operation_timeout_seconds=5)
        producer = client.create_producer(TOPIC, send_timeout_millis=3000)
        producer.send(b"kept")
        GONE[how](folder)
        until_process_logged(broker, "storage.folder_lost")
        with pytest.raises(pulsar.PulsarException):
            producer.send(b"not kept")
        for path in ("brokers/health", "brokers/ready"):
            status, said = ask(broker, path)
            assert status == 503
            assert "was deleted, moved or replaced while the broker runs" in said
        status, said = ask(broker, "namespaces/public/new", "PUT")
        assert (status, "Stop the broker, restore the folder" in said) == (503, True)
        [notice] = json.loads(ask(broker, "magnetar/attention")[1])["broker"]
        assert notice["event"] == "data-folder-lost"
        assert str(folder) in notice["text"]
        client.shutdown()
        broker.kill()


def test_health_notices_at_once(tmp_path):
    with BrokerProcess(tmp_path / "data", beside=tmp_path) as broker:
        assert ask(broker, "brokers/health")[0] == 200
        shutil.rmtree(tmp_path / "data")
        assert ask(broker, "brokers/health")[0] == 503
        broker.kill()
