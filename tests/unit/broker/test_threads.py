"""A broker in a loop that has no thread to spare: the application in its process uses them all."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request, urlopen

import pytest

from magnetar import Client
from magnetar.broker.threads import IMPORT_SWITCH_S, imported, in_thread
from magnetar.testing.local_broker import LocalBroker

TOPIC = "persistent://public/default/t"


@pytest.fixture
async def one_thread():
    """The event loop has one, in which the test asks the broker."""
    with ThreadPoolExecutor(1) as threads:
        asyncio.get_running_loop().set_default_executor(threads)
        yield


def ask(url):
    with urlopen(Request(url), timeout=10) as answer:
        return answer.read()


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    "path",
    [
        "admin/v2/clusters",
        "metrics/",
        "admin/v2/persistent/public/default/t/messages?count=1",
    ],
)
async def test_its_admin_api_answers(tmp_path, path):
    async with LocalBroker(tmp_path) as broker, Client(broker.service_url) as client:
        producer = await client.create_producer(TOPIC)
        await producer.send(bytes(200_000))
        assert await asyncio.to_thread(ask, f"{broker.web_url}/{path}")


async def test_what_is_called_in_a_thread_returns_or_raises():
    assert await in_thread("a,b".split, ",") == ["a", "b"]
    assert await in_thread(sorted, [1, 2], reverse=True) == [2, 1]
    with pytest.raises(ZeroDivisionError):
        await in_thread(divmod, 1, 0)


async def test_an_import_gives_way_and_all_is_as_before(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "slow_to_import.py").write_text("import sys\nseen = sys.getswitchinterval()\n")
    (tmp_path / "fails_to_import.py").write_text("1 / 0")
    before = sys.getswitchinterval()
    module = await imported("slow_to_import")
    assert module.seen == pytest.approx(IMPORT_SWITCH_S)
    with pytest.raises(ZeroDivisionError):
        await imported("fails_to_import")
    assert sys.getswitchinterval() == before
