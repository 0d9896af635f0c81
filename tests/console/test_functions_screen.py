"""The screen of functions in a real browser, with functions that run in threads."""

import pytest
from console.accessibility import flaws
from console.browser import Window, browser, needs_chromium
from support.elsewhere import wait_until
from support.thread_jobs import ThreadJobs
from support.worker_thread import WorkerThread

from magnetar.client import blocking
from magnetar.client.admin_api import AdminApi
from magnetar.functions.worker.settings import WorkerSettings
from magnetar.testing.local_broker import BrokerThread
from magnetar.tools.functions.api import FunctionsApi

pytestmark = needs_chromium
CODE = """
def process(input):
    if int(input) == 13:
        raise ValueError("thirteen")
    return input
"""


@pytest.fixture
def functions(tmp_path):
    """A broker, and its worker's API with a function that failed once."""
    (tmp_path / "careful.py").write_text(CODE)
    config = {"py": str(tmp_path / "careful.py"), "className": "careful", "name": "careful"}
    with BrokerThread() as broker:
        settings = WorkerSettings(
            service_url=broker.service_url,
            admin_url=broker.web_url,
            folder=tmp_path / "worker",
            port=0,
        )
        with WorkerThread(settings, ThreadJobs(broker.service_url, broker.web_url)) as url:
            api = FunctionsApi(AdminApi(url))
            more = {"inputs": ["numbers"], "output": "copies", "subscriptionPosition": "Earliest"}
            api.create("public/default/careful", {**config, **more, "maxMessageRetries": 0})
            with blocking.Client(broker.service_url) as client:
                producer = client.create_producer("numbers")
                producer.send_many([b"1", b"13"])
            wait_until(lambda: counts(api) == (1, 1), "two messages were not taken")
            yield broker, url, api


def counts(api):
    status = api.status("public/default/careful")["instances"][0]["status"]
    return status["numSuccessfullyProcessed"], status["numUserExceptions"]


def test_a_function_is_seen_stopped_started_and_deleted(functions):
    broker, url, api = functions

    def forward(route):
        """To the worker, as the broker does where it has one of its own."""
        asked = route.request
        headers = {name: value for name, value in asked.headers.items() if name != "origin"}
        answer = route.fetch(url=asked.url.replace(broker.web_url, url), headers=headers)
        route.fulfill(response=answer)

    with browser() as chromium:
        window = Window(chromium, broker.web_url)
        page = window.page
        window.go("functions")
        window.says("Functions are off")
        page.route("**/admin/v3/functions/**", forward)
        window.go("")
        window.go("functions")
        window.says("1 of 1 run")
        page.get_by_text("ValueError: thirteen").wait_for()
        page.get_by_role("link", name="numbers").wait_for()

        def choose(item):
            page.get_by_role("button", name="Actions for careful").click()
            page.get_by_role("menuitem", name=item, exact=True).click()

        choose("Instances")
        window.says("Instance 0 failed last with")
        assert flaws(page) == []
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Actions for careful").click()
        start = page.get_by_role("menuitem", name="Start", exact=True)
        assert start.get_attribute("title") == "All of its instances run"
        lowest = page.get_by_role("menuitem", name="Delete", exact=True).bounding_box()
        inside = "([x, y]) => document.elementFromPoint(x, y)?.textContent"
        middle = [lowest["x"] + lowest["width"] / 2, lowest["y"] + lowest["height"] / 2]
        assert page.evaluate(inside, middle) == "Delete", "the table cuts its menu off"
        page.keyboard.press("Escape")
        choose("Stop")
        window.confirm("Stop")
        window.says("careful is stopped")
        page.locator(".badge", has_text="stopped").wait_for()
        assert api.status("public/default/careful")["numRunning"] == 0
        choose("Start")
        window.confirm("Start")
        page.locator(".badge", has_text="1 of 1 run").wait_for()
        choose("Restart")
        window.confirm("Restart")
        window.says("careful is restarted")
        choose("Configuration")
        window.says("subscriptionPosition")
        page.keyboard.press("Escape")
        choose("Delete")
        window.confirm("Delete", typed="careful")
        window.says("No functions yet")
        assert api.names("public", "default") == []
        assert window.complaints == []
