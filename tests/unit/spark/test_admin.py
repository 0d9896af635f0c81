import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import pytest
from support.admin import ask
from support.certificates import Authority
from support.topics import create_partitioned_topic

from magnetar.errors import MagnetarError, NotAllowed, NotReady, Unreachable
from magnetar.model.names import TopicName
from magnetar.spark.admin import TopicAdmin
from magnetar.spark.client_settings import ClientSettings
from magnetar.testing.local_broker import BrokerThread

NAMES = count()


@pytest.fixture(scope="module")
def broker():
    with BrokerThread() as running:
        yield running


@pytest.fixture(params=[0, 2])
def topic(broker, request):
    """With partitions and without."""
    name = f"persistent://public/default/t{next(NAMES)}"
    if request.param:
        create_partitioned_topic(broker.web_url, TopicName.parse(name), request.param)
    else:
        ask(broker, "PUT", name.replace("://", "/"))
    return name


def test_a_topic_keeps_messages_for_a_subscription_or_by_retention(broker, topic):
    path = topic.replace("://", "/")
    assert not TopicAdmin(broker.web_url, 10.0).keeps(topic)
    policy = {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1}
    ask(broker, "POST", f"{path}/retention", policy)
    assert TopicAdmin(broker.web_url, 10.0).keeps(topic)
    ask(broker, "DELETE", f"{path}/retention")
    assert not TopicAdmin(broker.web_url, 10.0).keeps(topic)
    ask(broker, "PUT", f"{path}/subscription/s", "earliest")
    assert TopicAdmin(broker.web_url, 10.0).keeps(topic)


def test_deduplication_is_that_of_the_topic_itself(broker):
    topic = "persistent://public/default/with space"
    path = "persistent/public/default/with%20space"
    ask(broker, "PUT", path)
    assert not TopicAdmin(broker.web_url, 10.0).deduplicates(topic)
    ask(broker, "POST", f"{path}/deduplicationEnabled", value=True)
    assert TopicAdmin(broker.web_url, 10.0).deduplicates(topic)


def test_a_topic_may_limit_the_size_of_messages_if_it_says_so_or_nothing(broker, topic):
    path = f"{topic.replace('://', '/')}/maxMessageSize"
    api = TopicAdmin(broker.web_url, 10.0)
    assert api.message_size_max(topic) == 0
    ask(broker, "POST", path, 1024)
    assert api.message_size_max(topic) == 1024
    assert api.message_size_max(f"{topic}-partition-0") == 1024
    ask(broker, "DELETE", path)
    assert api.message_size_max(topic) == 0
    with closed_api(shown="Bearer another") as server:
        assert (
            TopicAdmin(f"http://127.0.0.1:{server.server_port}", 1.0).message_size_max(topic)
            is None
        )


def test_what_cannot_be_asked_names_the_address():
    with pytest.raises(Unreachable, match=r"no admin API answers at http://127\.0\.0\.1:1"):
        TopicAdmin("http://127.0.0.1:1", 0.1).deduplicates("t")


def test_a_refusal_is_shown(broker):
    with pytest.raises(MagnetarError, match=r"404 Not Found.*"):
        TopicAdmin(broker.web_url, 10.0).deduplicates("there-is-no-such-topic")


class Closed(BaseHTTPRequestHandler):
    """Answers those who show this, and is away at first."""

    shown = "Bearer a.b.c"
    away = 0

    def do_GET(self):
        if type(self).away:
            type(self).away -= 1
            self.send_error(503, "not yet")
        elif self.headers["Authorization"] != self.shown:
            self.send_error(401, "who are you?")
        else:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"deduplicationStatus": "Enabled"}')


@contextmanager
def closed_api(**said):
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("It", (Closed,), said))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def settings(**given):
    return ClientSettings.parse({f"pulsar.client.{name}": text for name, text in given.items()})


@pytest.mark.parametrize(
    ("plugin", "parameters", "shown"),
    [
        ("token", "token:a.b.c", "Bearer a.b.c"),
        ("basic", '{"userId": "me", "password": "secret"}', "Basic bWU6c2VjcmV0"),
    ],
)
def test_it_is_asked_with_the_clients_credentials(plugin, parameters, shown):
    with closed_api(shown=shown) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        with pytest.raises(
            MagnetarError, match=r"401 Unauthorized.*pulsar\.client\.authPluginClassName"
        ):
            TopicAdmin(url, 1.0).deduplicates("t")
        credentials = settings(authPluginClassName=plugin, authParams=parameters)
        assert TopicAdmin(url, 1.0, client=credentials).deduplicates("t")
        assert "secret" not in repr(TopicAdmin(url, 1.0, client=credentials))


def test_its_certificate_is_checked_as_the_client_is_told(tmp_path):
    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue("broker"))
    with closed_api(shown=None) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = f"https://localhost:{server.server_port}"
        with pytest.raises(NotAllowed, match="its certificate is not trusted"):
            TopicAdmin(url, 5.0).deduplicates("t")
        trust = settings(tlsTrustCertsFilePath=authority.file)
        assert TopicAdmin(url, 5.0, client=trust).deduplicates("t")


def test_a_broker_that_is_away_is_waited_for_as_long_as_is_said():
    with closed_api(shown=None, away=3) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        with pytest.raises(NotReady, match="503"):
            TopicAdmin(url, 0.01).deduplicates("t")
        assert TopicAdmin(url, 0.01, retry_forever=True).deduplicates("t")
