"""The map of clusters in the console: who sends to whom, and why one does not."""

from contextlib import ExitStack

import pytest
from console.accessibility import flaws
from console.browser import Window, browser, needs_chromium
from support.admin import ask

from magnetar.client import blocking
from magnetar.testing.local_broker import BrokerThread

pytestmark = needs_chromium
NAMES = ("west", "east")


@pytest.fixture
def clusters():
    """Two that replicate geo/ns to each other, each with what ends it."""
    with ExitStack() as stack:
        found = {}
        for name in NAMES:
            ends = stack.enter_context(ExitStack())
            found[name] = ends.enter_context(BrokerThread(settings={"clusterName": name})), ends
        for name in NAMES:
            broker = found[name][0]
            [(other, there)] = [(each, it) for each, (it, _) in found.items() if each != name]
            urls = {"serviceUrl": there.web_url, "brokerServiceUrl": there.service_url}
            ask(broker, "PUT", f"clusters/{other}", urls)
            ask(broker, "PUT", "tenants/geo", {"allowedClusters": list(NAMES)})
            ask(broker, "PUT", "namespaces/geo/ns")
            ask(broker, "POST", "namespaces/geo/ns/replication", list(NAMES))
        yield found


def test_who_sends_to_whom_and_why_not(clusters):
    west, _ = clusters["west"]
    with blocking.Client(west.service_url) as client, browser() as chromium:
        producer = client.create_producer("persistent://geo/ns/t")
        producer.send(b"one")
        window = Window(chromium, west.web_url)
        page = window.page
        window.go("clusters")
        page.locator("svg.map .way.good").first.wait_for()
        window.says("this cluster")
        rows = page.get_by_role("table", name="Ways").get_by_role("row")
        rows.filter(has_text="connected").nth(1).wait_for()  # There, and back.
        assert not page.get_by_role("table", name="Topics behind").is_visible()
        assert flaws(page) == []
        clusters["east"][1].close()
        producer.send(b"two")
        page.locator("svg.map .way.bad").first.wait_for()
        rows.filter(has_text="not connected").filter(has_text="cannot connect").first.wait_for()
        window.says("does not tell what it sends")
        behind = page.get_by_role("table", name="Topics behind").get_by_role("row")
        behind.filter(has_text="persistent://geo/ns/t").first.wait_for()
        assert "1 to send" in page.locator("svg.map .way.bad").first.text_content()
        assert flaws(page) == []
        page.set_viewport_size({"width": 390, "height": 844})
        wide = page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= 390, "the page has to be scrolled sideways"
        page.get_by_role("link", name="persistent://geo/ns/t").click()
        window.says("Other clusters")
        assert window.complaints == []
