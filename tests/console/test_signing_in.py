"""The console of a broker that asks who somebody is, and what a role may do."""

import json
from urllib.request import Request, urlopen

import pytest
from console.accessibility import flaws
from console.browser import Window, browser, needs_chromium
from support.tokens import TAKES_TOKENS, token

from magnetar.testing.local_broker import BrokerThread

pytestmark = needs_chromium

SETTINGS = {**TAKES_TOKENS, "authorizationEnabled": "true", "superUserRoles": "root"}


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def broker():
    with BrokerThread(settings=SETTINGS) as running:
        as_root(running, "PUT", "persistent/public/default/orders")
        as_root(running, "PUT", "persistent/public/default/orders/subscription/s", "earliest")
        as_root(running, "POST", "namespaces/public/default/permissions/reader", ["consume"])
        yield running


def as_root(broker, method, path, value=None):
    """Let a superuser change something."""
    request = Request(
        f"{broker.web_url}/admin/v2/{path}",
        method=method,
        data=None if value is None else json.dumps(value).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {token('root')}"},
    )
    with urlopen(request, timeout=20):
        pass


def sign_in(window, role):
    window.page.goto(f"{window.url}/console/#/topics/persistent/public/default/orders/messages")
    window.page.get_by_role("heading", name="Sign in to Magnetar").wait_for()
    assert flaws(window.page) == []
    window.page.get_by_label("Token", exact=True).fill(token(role))
    window.press("Sign in")
    window.says("No messages are stored here")


def test_a_superuser_signs_in_by_a_token_which_stays_in_the_tab(broker, chromium):
    window = Window(chromium, broker.web_url)
    page = window.page
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{broker.web_url}/console/")
    page.get_by_label("Token", exact=True).fill("no token")
    window.press("Sign in")
    page.get_by_role("alert").wait_for()
    sign_in(window, "root")
    window.says("root")
    assert not window.button("Publish").get_attribute("aria-disabled")
    assert not [url for url in asked if token("root")[:20] in url]
    assert page.evaluate("() => Object.keys(localStorage).concat(document.cookie)") == [""]
    window.press("Sign out")
    page.get_by_role("heading", name="Sign in to Magnetar").wait_for()
    assert page.evaluate("() => sessionStorage.length") == 0
    assert window.complaints == []
    page.close()


def test_who_may_not_is_told_why(broker, chromium):
    window = Window(chromium, broker.web_url)
    page = window.page
    sign_in(window, "reader")
    publish = window.button("Publish")
    assert publish.get_attribute("aria-disabled") == "true"
    assert "permission to produce: you are reader" in publish.get_attribute("title")
    publish.click(force=True)
    window.says("This needs the permission to produce")
    window.go("namespaces/public/default")
    window.says("orders")
    window.go("namespaces/public/default/policies")
    window.says("Unauthorized to")
    window.go("tenants")
    window.says("Open a namespace")
    assert flaws(page) == []
    assert window.complaints == []
    page.close()
