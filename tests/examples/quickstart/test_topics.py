import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from quickstart.topics import QuickstartTopics, create_partitioned_topic

from magnetar.errors import InvalidName, Refused, Unreachable
from magnetar.model.names import TopicName

TOPIC = TopicName.parse("public/default/flights")


@pytest.fixture
def web():
    """A server that answers every PUT with ``server.status`` and keeps what was asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.asked.append((self.path, body))
            self.send_response(server.status)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.status = [], 204
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def url(server):
    return f"http://127.0.0.1:{server.server_port}/"


def test_a_topic_is_asked_for_with_its_partitions(web):
    create_partitioned_topic(url(web), TOPIC, 4)
    assert web.asked == [("/admin/v2/persistent/public/default/flights/partitions", b"4")]


def test_a_topic_that_is_there_already_is_fine(web):
    web.status = 409
    create_partitioned_topic(url(web), TOPIC, 4)


def test_a_refusal_is_reported_with_the_topic(web):
    web.status = 412
    with pytest.raises(Refused, match=r"412.*public/default/flights"):
        create_partitioned_topic(url(web), TOPIC, 4)


def test_nobody_answering_is_reported_with_the_address(unused_tcp_port):
    with pytest.raises(Unreachable, match=str(unused_tcp_port)):
        create_partitioned_topic(f"http://127.0.0.1:{unused_tcp_port}", TOPIC, 4)


def test_topics_share_a_prefix():
    topics = QuickstartTopics.named("quickstart-1")
    assert str(topics.flights) == "persistent://public/default/quickstart-1-flights"
    assert len({topics.flights, topics.results, topics.cancelled}) == 3


def test_a_prefix_may_name_a_namespace():
    assert str(QuickstartTopics.named("t/n/x").results) == "persistent://t/n/x-carrier-days"
    with pytest.raises(InvalidName):
        QuickstartTopics.named("a/b")
