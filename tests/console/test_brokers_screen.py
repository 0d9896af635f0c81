"""The brokers of a cluster in the console: what each carries, moved, split and drained there."""

import pytest
from console.browser import Window, browser, needs_chromium
from support.broker_pair import BrokerPair
from support.elsewhere import wait_until

from magnetar.client import blocking

pytestmark = needs_chromium
SETTINGS = {"loadBalancerEnabled": True, "loadBalancerHostUsageCheckIntervalMinutes": 0.01}


@pytest.fixture
def pair():
    with BrokerPair(SETTINGS, 7) as running, running.for_a_test(unmoved=True):
        yield running


def of_users(bundle):
    """Whether it is of more than one broker's own topics, by which its health is checked."""
    return ":" not in bundle.namespace.local


def test_bundles_are_moved_and_split_and_a_broker_is_drained(pair):
    registries = [each.broker.registry for each in pair.brokers]
    names = [each.broker.address.name for each in pair.brokers]
    with blocking.Client(pair.service_url) as client, browser() as chromium:
        producer = client.create_producer("persistent://public/default/t")
        here = next(number for number in (0, 1) if registries[number].loaded)
        window = Window(chromium, pair.web_url)
        window.go("brokers")
        bundles = window.page.get_by_role("table", name="Bundles")
        row = (
            bundles.get_by_role("row")
            .filter(has_text="public/default")
            .filter(has_text=names[here])
        )
        row.first.get_by_text("it had least to do by the reports").or_(
            row.first.get_by_text("a note named it")
        ).first.wait_for()

        def choose(action):
            row.first.get_by_role("button", name="Actions for").click()
            window.page.get_by_role("menuitem", name=action).click()
            window.dialog.get_by_role("button", name=action).click()

        choose("Move")
        wait_until(
            lambda: any(map(of_users, registries[1 - here].ownership.bundles)),
            "the bundle was not moved",
        )
        window.go("topics")
        window.go("brokers")
        row = bundles.get_by_role("row").filter(has_text="public/default")
        row.first.wait_for()
        choose("Split")
        window.page.get_by_text(": done").first.wait_for()
        window.button(f"Drain {names[0]}").click()
        window.dialog.get_by_role("button", name="Drain").click()
        window.page.get_by_text(f"{names[0]} is drained").first.wait_for()
        assert registries[0].ownership.leaving
        assert not any(map(of_users, registries[0].ownership.bundles))
        # One that is drained does not serve the topic that its health is checked by.
        assert [each for each in window.complaints if "brokers/health" not in each] == []
        producer.send(b"served by the other broker")
