"""What an operator reads on the overview and on a fresh topic, however long names are."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from console.browser import Window, browser, needs_chromium

from magnetar.testing.local_broker import BrokerThread

pytestmark = needs_chromium

MAGNETAR = Path(sys.executable).with_name("magnetar")
SIXTY = "-".join(["a-name-that-a-program-made-of-its-host-and-its-purpose-4711"] * 2)[:60]
NEEDY = [
    {
        "topic": f"persistent://public/default/{SIXTY[:-1]}{number}",
        "subscription": f"{SIXTY[:-1]}{number}",
        "cause": "no-consumer" if number % 2 else "no-permits",
        "reason": f"consumer {SIXTY} has given no permits",
        "msgBacklog": 1234,
        "since": None,
    }
    for number in range(8)
]


@pytest.fixture(scope="module")
def broker():
    with BrokerThread() as running:
        yield running


@pytest.fixture(scope="module")
def window(broker):
    with browser() as chromium:
        opened = Window(chromium, broker.web_url)
        yield opened
        assert opened.complaints == []


@pytest.mark.parametrize(("width", "height_max"), [(1280, 110), (390, 220)])
def test_eight_needy_subscriptions_with_long_names_are_readable(window, width, height_max):
    page = window.page
    answer = {"count": len(NEEDY), "subscriptions": NEEDY, "broker": []}
    page.route("**/magnetar/attention", lambda route: route.fulfill(json=answer))
    page.set_viewport_size({"width": width, "height": 900})
    window.go("brokers")
    window.go("")
    table = page.locator(".table-wrap[aria-label='Needs attention']")
    table.get_by_text("has given no permits").first.wait_for()
    assert table.get_by_role("row").count() == 1 + len(NEEDY)
    room = table.evaluate("each => [each.scrollWidth, each.clientWidth]")
    assert room[0] <= room[1], "it has to be scrolled sideways"
    for row in table.get_by_role("row").all():
        assert row.bounding_box()["height"] < height_max
    page.unroute_all()


def test_an_axis_has_no_label_twice_where_nothing_flows(window):
    window.go("")
    for chart in window.page.locator("svg.chart").all():
        labels = chart.locator("g text.axis").all_text_contents()
        assert len(set(labels)) == len(labels) == 3, labels


def test_commands_name_the_broker_that_shows_them_and_work(broker, window):
    window.go("tenants/public")
    topic = "persistent/public/default/fresh"
    _run(["admin", "topics", "create", "fresh", "--admin-url", broker.web_url])
    window.go(f"topics/{topic}")
    window.says("Nobody publishes")
    assert "0 B a message" not in window.page.locator("main").inner_text()
    shown = window.page.locator(".command code").all_text_contents()
    [produce] = [each for each in shown if each.startswith("magnetar produce")]
    assert produce.endswith(f"--url {broker.service_url}")
    _run(shlex.split(produce)[1:])
    window.go(f"topics/{topic}/schema")
    window.says("No schema")
    [upload] = window.page.locator(".command code").all_text_contents()
    assert upload.endswith(f"--admin-url {broker.web_url}")


def test_a_policy_that_does_nothing_here_is_named(window):
    window.go("namespaces/public/default/policies")
    window.says("Retention")
    path = "namespaces/public/default/persistence"
    asked = f"import('./js/api.js').then(api => api.post('{path}', persistence))"
    numbers = {f"bookkeeper{each}": 1 for each in ("Ensemble", "WriteQuorum", "AckQuorum")}
    window.page.evaluate(f"persistence => {asked}", numbers)
    window.says("persistence: it is kept and shown, and this broker does nothing about it")


def _run(words):
    subprocess.run([MAGNETAR, *words], check=True, timeout=60)
