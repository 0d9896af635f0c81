"""Every screen of the console in a real browser, against a real broker with real traffic."""

import json
import threading
from urllib.request import Request, urlopen

import pytest
from console.accessibility import flaws
from console.browser import Window, browser, needs_chromium
from support.admin import ask
from support.faults import FaultyFiles
from support.tokens import TAKES_TOKENS, token

from magnetar import InitialPosition, SubscriptionType
from magnetar.broker.admin.routes.console import FOLDER
from magnetar.client import blocking
from magnetar.testing.local_broker import BrokerThread

pytestmark = needs_chromium

TOPIC = "persistent/shop/orders/paid"
ORDERS = "persistent/public/default/orders"
SETTINGS = {**TAKES_TOKENS, "authorizationEnabled": "true", "superUserRoles": "root"}
AVRO = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def broker():
    with BrokerThread(settings={"transactionCoordinatorEnabled": True}) as running:
        ask(
            running, "PUT", "tenants/shop", {"adminRoles": ["a"], "allowedClusters": ["standalone"]}
        )
        ask(running, "PUT", "namespaces/shop/orders")
        ask(running, "PUT", "persistent/shop/orders/placed/partitions", 2)
        with blocking.Client(running.service_url) as client:
            ended = threading.Event()
            idle = [client.subscribe("persistent://shop/orders/placed", "fulfil")]
            paid = "persistent://shop/orders/paid"
            shared = SubscriptionType.KEY_SHARED
            idle += [
                client.subscribe(paid, "packing", type=shared, name=name, start_paused=True)
                for name in ("packer-1", "packer-2")
            ]
            stuck = client.subscribe(
                paid,
                "ledger",
                type=SubscriptionType.SHARED,
                initial_position=InitialPosition.EARLIEST,
                name="booker",
                receiver_queue_size=5,
            )
            traffic = threading.Thread(target=publish, args=(client, ended))
            traffic.start()
            # Holes: the first is not acknowledged, some behind it are.
            for number in range(5):
                message = stuck.receive()
                if number % 2:
                    stuck.acknowledge(message)
            yield running
            assert len(idle) == 3, "whoever lets go of a consumer closes it"
            ended.set()
            traffic.join()


def publish(client, ended):
    paid = client.create_producer("persistent://shop/orders/paid", batching=False)
    placed = client.create_producer("persistent://shop/orders/placed")
    number = 0
    while not ended.wait(0.05):
        for _ in range(3):
            value = json.dumps({"order": number, "total": 9.5}).encode()
            paid.send(value, key=f"customer-{number % 7}", properties={"from": "web"})
            placed.send(value)
            number += 1


@pytest.fixture(scope="module")
def opened(broker, chromium):
    return Window(chromium, broker.web_url)


@pytest.fixture
def window(opened):
    """One page for all tests, at a screen of any; it may not complain."""
    opened.page.emulate_media(color_scheme="dark")
    opened.page.set_viewport_size({"width": 1280, "height": 900})
    opened.complaints.clear()
    yield opened
    assert opened.complaints == []


SCREENS = {
    "": "Needs attention",
    "tenants": "New tenant",
    "tenants/shop": "New namespace",
    "namespaces/shop/orders": "placed",
    "namespaces/shop/orders/policies": "Retention",
    "namespaces/shop/orders/permissions": "Nobody has a right of their own here",
    "namespaces/shop/orders/bundles": "0x00000000_0x40000000",
    "topics": "shop/orders/paid",
    f"topics/{TOPIC}": "Producers",
    "topics/persistent/shop/orders/placed": "partition 1",
    f"topics/{TOPIC}/messages": "customer-3",
    f"topics/{TOPIC}/storage": "Mark-delete",
    f"topics/{TOPIC}/policies": "Retention",
    f"topics/{TOPIC}/schema": "No schema",
    f"topics/{TOPIC}/permissions": "Permissions",
    f"topics/{TOPIC}/subscription/packing": "packer-2",
    f"topics/{TOPIC}/subscription/ledger": "What helps:",
    "brokers": "standalone",
    "brokers/stores": "This broker is alone",
    "brokers/transactions": "All ended up to",
    "brokers/dynamic": "Setting",
    "brokers/configuration": "Setting",
    "clusters": "Nothing is replicated",
    "functions": "Functions are off",
}


def test_a_name_that_would_turn_the_text_around_it_shows_its_characters(window, broker):
    with (
        blocking.Client(broker.service_url) as client,
        client.create_producer("persistent://shop/orders/turned", name="a\u202egnp.exe"),
    ):
        window.go("topics/persistent/shop/orders/turned")
        window.says("a\\u202egnp.exe")


def test_an_open_transaction_says_what_it_holds_up_and_is_aborted(window, broker):
    held = "persistent://shop/orders/held"
    with (
        blocking.Client(broker.service_url) as client,
        client.create_producer(held) as producer,
        client.subscribe(held, "reader") as consumer,
    ):
        txn = client.transaction(timeout_s=600)
        producer.send(b"hidden", txn=txn)
        window.go("brokers/transactions")
        window.says("held from ")
        window.press("Abort")
        window.confirm("Abort")
        window.says("is aborted")
        producer.send(b"shown")
        assert consumer.receive(timeout_s=5).data == b"shown"
    ask(broker, "DELETE", "persistent/shop/orders/held?force=true")


def test_every_screen_shows_what_there_is_to_everybody(window):
    page = window.page
    for place, text in SCREENS.items():
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 1280, "height": 900})
        window.go(place)
        window.says(text)
        assert flaws(page) == [], place
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 390, "height": 844})
        assert flaws(page) == [], f"{place}, light and narrow"


def test_each_screen_changes_what_it_shows(broker, window):
    page = window.page
    window.go("tenants")
    window.press("New tenant")
    window.fill("Name", "acme")
    window.confirm("Create")
    window.says("No namespaces yet")
    window.press("New namespace")
    window.fill("Name", "events")
    window.confirm("Create")
    page.get_by_role("heading", name="acme/events").wait_for()

    window.press("New topic")
    window.fill("Name", "clicks")
    window.confirm("Create")
    window.says("No subscriptions")
    window.press("New subscription")
    window.fill("Name", "counting")
    window.confirm("Create")
    window.says("Caught up")
    for value in ("one", "two", "three"):
        window.press("Publish")
        window.fill("Key", "k")
        window.dialog.locator("[name=value]").fill(value)
        window.confirm("Publish")

    topic = "persistent/acme/events/clicks"
    window.go(f"topics/{topic}/messages")
    page.get_by_text("two", exact=True).click()
    window.says("No properties")
    assert page.locator(".opened pre").inner_text() == "two"
    page.get_by_role("button", name="Hex").click()
    assert "74 77 6f" in page.locator(".opened pre").inner_text()
    window.press("Live tail")
    window.says("Waiting for messages")
    window.press("Publish")
    window.dialog.locator("[name=value]").fill("four")
    window.confirm("Publish")
    window.says("1 message since the tail began")

    window.go(f"topics/{topic}/subscription/counting")
    window.press("Skip")
    window.dialog.get_by_label("How many").fill("2")
    window.says("The next 2 entries of 4 in the backlog are not delivered any more.")
    window.confirm("Skip")
    assert backlog(broker, topic) == 2
    window.press("Reset")
    window.says("Delivers 2 entries again, and then what comes after.")
    window.confirm("Reset")
    assert backlog(broker, topic) == 4
    window.choose("Clear the backlog")
    window.says("4 entries of clicks are not delivered to it any more.")
    window.confirm("Clear", typed="counting")
    assert backlog(broker, topic) == 0

    window.choose("Replay messages")
    window.dialog.get_by_label("Contains").fill("two")
    window.dialog.locator("footer button[type=submit]").click()
    window.says("1 message in 1 entry. Nothing was done yet.")
    window.confirm("Replay 1 message")
    assert backlog(broker, topic) == 1

    letters = f"{topic}-DLQ"
    ask(broker, "PUT", letters)
    letter = {"value": "late", "properties": {"REAL_TOPIC": "persistent://acme/events/clicks"}}
    ask(broker, "POST", f"{letters}/messages", {"messages": [letter]})
    window.go(f"topics/{letters}")
    window.choose("Send dead letters back")
    window.dialog.locator("footer button[type=submit]").click()
    window.says("1 to persistent://acme/events/clicks")
    window.confirm("Send back 1 message")
    window.says("1 letter sent back")
    assert backlog(broker, topic) == 2
    ask(broker, "DELETE", letters)
    redrive_partitions(broker, window, topic)
    see_chunks(broker, window)

    window.go(f"topics/{topic}/schema")
    window.press("New version")
    window.dialog.get_by_label("Definition").fill(json.dumps(AVRO))
    window.confirm("Add")
    window.says("version 0")
    note = {"name": "note", "type": "string", "default": ""}
    window.press("New version")
    grown = {**AVRO, "fields": [*AVRO["fields"], note]}
    window.dialog.get_by_label("Definition").fill(json.dumps(grown))
    window.press("Check")
    window.says("It would be taken")
    window.confirm("Add")
    page.locator(".diff .added", has_text="note").wait_for()

    window.go(f"topics/{topic}/permissions")
    window.press("Grant")
    window.fill("Role", "reader")
    window.dialog.get_by_label("consume").check()
    window.confirm("Grant")
    window.says("reader")
    assert ask(broker, "GET", f"{topic}/permissions") == {"reader": ["consume"]}

    window.go("namespaces/acme/events/policies")
    window.press("Edit Time to live")
    window.fill("Time to live", "60")
    window.confirm("Save")
    page.get_by_role("row", name="Time to live").get_by_text("this namespace").wait_for()
    window.go(f"topics/{topic}/policies")
    row = page.get_by_role("row", name="Time to live")
    assert row.locator("td").nth(1).inner_text() == "1 min"
    assert row.locator("td").nth(2).inner_text() == "namespace"

    window.go(f"topics/{topic}")
    window.choose("Delete")
    assert window.button("Delete", within=window.dialog).is_disabled()
    window.confirm("Delete", typed="clicks")
    window.says("No topics yet")
    assert ask(broker, "GET", "persistent/acme/events") == []


def see_chunks(broker, window):
    """A message in chunks is one row, and tells where they are."""
    topic = "persistent://acme/events/large"
    with blocking.Client(broker.service_url) as client:
        client.create_producer(topic, chunking=True).send(b"a" * (11 * 1024 * 1024), key="whole")
    window.go("topics/persistent/acme/events/large/messages")
    window.says("3 chunks")
    rows = window.page.locator("table.messages tbody tr")
    assert rows.count() == 1
    assert "11.0 MiB" in rows.inner_text()
    window.page.get_by_text("whole", exact=True).click()
    window.says("Chunks")
    again = window.button("Publish again")
    assert "would be another message" in again.get_attribute("title")
    ask(broker, "DELETE", "persistent/acme/events/large?force=true")


def redrive_partitions(broker, window, topic):
    """Send the letters of two partitions back together, and have one come again."""
    letters = "persistent/acme/events/lost"
    ask(broker, "PUT", f"{letters}/partitions", 2)
    ask(broker, "PUT", f"{letters}/subscription/kept", "earliest")
    letter = {"value": "late", "properties": {"REAL_TOPIC": "persistent://acme/events/clicks"}}
    for index in range(2):
        ask(broker, "POST", f"{letters}-partition-{index}/messages", {"messages": [letter]})
    window.go(f"topics/{letters}")
    window.choose("Send dead letters back")
    window.dialog.locator("footer button[type=submit]").click()
    window.says("2 to persistent://acme/events/clicks")
    window.confirm("Send back 2 messages")
    window.says("2 letters sent back")
    assert backlog(broker, topic) == 4
    window.go(f"topics/{letters}/subscription/kept")
    window.choose("Replay messages")
    window.dialog.locator("footer button[type=submit]").click()
    window.says("partition 1: 1 entry")
    window.confirm("Replay 2 messages")
    window.says("2 messages will come again")
    ask(broker, "DELETE", f"{letters}/partitions?force=true")


def backlog(broker, topic):
    return ask(broker, "GET", f"{topic}/stats")["subscriptions"]["counting"]["msgBacklog"]


def test_a_refusal_is_shown_with_the_brokers_reason(window):
    window.go("tenants/shop")
    window.press("New namespace")
    window.fill("Name", "orders")
    window.dialog.locator("footer button[type=submit]").click()
    window.says("Namespace already exists")
    window.page.keyboard.press("Escape")
    window.go("topics/persistent/shop/orders/nowhere")
    window.says("Topic persistent://shop/orders/nowhere not found")
    assert flaws(window.page) == []


def test_keys_lead_everywhere(window):
    page = window.page
    window.go("")
    page.keyboard.type("gn")
    page.locator("main[data-place='tenants']").wait_for()
    page.keyboard.press("j")
    first = page.locator(":focus").inner_text()
    page.keyboard.press("j")
    second = page.locator(":focus").inner_text()
    assert first < second
    page.keyboard.press("Enter")
    page.locator(f"main[data-place='tenants/{second}']").wait_for()
    page.keyboard.press("[")
    page.locator("main[data-place='tenants']").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("orders placed")
    page.get_by_role("option", name="shop/orders/placed").wait_for()
    assert flaws(page) == []
    page.keyboard.press("Enter")
    page.locator("main[data-place='topics/persistent/shop/orders/placed']").wait_for()
    page.keyboard.press("?")
    window.says("The next row of a table")
    page.keyboard.press("Escape")
    assert not page.locator("dialog[open]").count()
    page.keyboard.press("d")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.keyboard.press("d")
    page.keyboard.press("d")
    assert page.locator("html").get_attribute("data-theme") is None


def test_every_module_can_be_loaded(window):
    window.go("tenants")
    names = sorted(file.relative_to(FOLDER).as_posix() for file in FOLDER.rglob("*.js"))
    load = "names => Promise.all(names.map(name => import(`/console/${name}`))).then(m => m.length)"
    assert window.page.evaluate(load, names) == len(names)


@pytest.fixture(scope="module")
def closed_broker():
    with BrokerThread(settings=SETTINGS) as running:
        as_root(running, "PUT", ORDERS)
        as_root(running, "PUT", f"{ORDERS}/subscription/s", "earliest")
        as_root(running, "PUT", "persistent/public/default/parts/partitions", 3)
        as_root(running, "DELETE", "persistent/public/default/parts-partition-1")
        as_root(running, "POST", "namespaces/public/default/permissions/reader", ["consume"])
        as_root(running, "POST", f"{ORDERS}/permissions/guest", ["consume"])
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
    window.page.goto(f"{window.url}/console/#/topics/{ORDERS}/messages")
    window.page.get_by_role("heading", name="Sign in to Magnetar").wait_for()
    assert flaws(window.page) == []
    window.page.get_by_label("Token", exact=True).fill(token(role))
    window.page.keyboard.press("Enter")
    window.says("No messages are stored here")


def test_a_superuser_signs_in_by_a_token_which_stays_in_the_tab(closed_broker, chromium):
    window = Window(chromium, closed_broker.web_url)
    page = window.page
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{closed_broker.web_url}/console/")
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


@pytest.mark.parametrize(
    ("topics", "says"), [(["idle"], "Nothing needs you"), ([], "A fresh broker")]
)
def test_a_broker_is_fresh_where_there_are_no_topics_not_where_none_is_open(
    tmp_path, chromium, topics, says
):
    with BrokerThread(tmp_path) as before, blocking.Client(before.service_url) as client:
        for topic in topics:
            client.create_producer(topic).send(b"kept")
    with BrokerThread(tmp_path) as broker:
        window = Window(chromium, broker.web_url)
        window.page.goto(f"{broker.web_url}/console/")
        window.page.get_by_text(says).first.wait_for()
        window.page.close()


def test_who_may_not_is_told_why(closed_broker, chromium):
    window = Window(chromium, closed_broker.web_url)
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
    window.says(
        "You are reader, and may not see the policies: only the administrators of its tenant"
    )
    window.go("tenants")
    window.says("You are reader, and may not list all tenants: only a superuser may.")
    page.locator("main").get_by_role("link", name="default", exact=True).wait_for()
    window.go("brokers")
    window.says("only superusers are told")
    window.go("topics")
    page.get_by_role("link", name="public/default/orders").wait_for()
    window.says("3 partitions")
    window.go(f"topics/{ORDERS}/subscription/s")
    page.get_by_text("Live", exact=True).wait_for()
    assert not window.button("Reset").get_attribute("aria-disabled")
    window.go("")
    window.says("In")
    assert flaws(page) == []
    assert window.complaints == []
    page.close()


def test_who_has_a_right_in_one_topic_only_opens_that_by_its_name(closed_broker, chromium):
    window = Window(chromium, closed_broker.web_url)
    page = window.page
    sign_in(window, "guest")
    window.go("tenants")
    window.says("you have a right in no whole namespace")
    window.go("tenants/public")
    window.says("You are guest, and may not see the tenant public")
    window.go("namespaces/public/default")
    window.says("You are guest, and may not list the topics of public/default")
    window.go("topics")
    window.says("You are guest, and may not list topics")
    assert not page.get_by_text("No topics yet").count()
    assert flaws(page) == []
    place = page.get_by_label("Namespace or topic")
    place.fill("orders")
    page.keyboard.press("Enter")
    window.says("neither tenant/namespace nor the full name of a topic")
    place.fill("persistent://public/default/orders")
    page.keyboard.press("Enter")
    page.locator(f"main[data-place='topics/{ORDERS}']").wait_for()
    assert window.complaints == []
    page.close()


def test_a_broker_that_is_not_well_is_not_called_healthy(chromium, tmp_path):
    files = FaultyFiles()
    broker = BrokerThread(tmp_path / "data", files=files)
    with broker:
        window = Window(chromium, broker.web_url)
        window.go("")
        window.says("healthy")
        window.says("Publish a first message")
        files.space_left = 0
        window.says("not healthy")
        window.says("does not take all that is published: [Errno 28]")
        window.says("make room on the disk")
        assert not window.page.get_by_text("Publish a first message").count()
        assert not window.page.get_by_text("Nothing needs you").count()
        assert flaws(window.page) == []
        files.repair()
    window.says("The broker does not answer")
    window.says("no answer")
    assert not window.page.get_by_text("healthy").count()
    window.page.close()


def test_a_quota_that_holds_producers_is_told_by_the_topics_page(broker, window):
    topic = "persistent/public/default/held"
    limit = {"limitSize": 10, "policy": "producer_request_hold"}
    ask(broker, "PUT", f"{topic}")
    ask(broker, "PUT", f"{topic}/subscription/behind", "earliest")
    ask(broker, "POST", f"{topic}/backlogQuota", limit)
    ask(broker, "POST", f"{topic}/messages", {"messages": [{"value": "more than ten bytes"}]})
    ask(broker, "GET", "brokers/backlog-quota-check")
    window.go(f"topics/{topic}")
    window.says("A backlog quota holds producers back")
    assert flaws(window.page) == []
    ask(broker, "POST", f"{topic}/subscription/behind/skip_all")
    ask(broker, "GET", "brokers/backlog-quota-check")
    window.page.get_by_text("A backlog quota holds producers back").wait_for(state="detached")
    ask(broker, "DELETE", f"{topic}?force=true")
