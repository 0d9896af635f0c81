"""What this broker does not do, as the official client meets it: refused at once, nothing lost."""

import pulsar
import pytest
from compatibility.conftest import open_client


@pytest.mark.parametrize(
    "authentication",
    [
        pulsar.AuthenticationToken("a.b.c"),
        pulsar.AuthenticationBasic("me", "secret"),
    ],
    ids=["token", "basic"],
)
def test_where_nobody_is_asked_credentials_are_not_looked_at(
    magnetar_broker, topic, authentication
):
    for url in (magnetar_broker.service_url, magnetar_broker.web_url):
        client = open_client(url, authentication=authentication)
        client.create_producer(topic).send(b"x")
        client.close()
