"""What this broker does not do, as the official client meets it: refused at once, nothing lost."""

import pulsar
import pytest
from compatibility.conftest import open_client


@pytest.mark.parametrize(
    "authentication",
    [
        pulsar.AuthenticationToken("a.b.c"),
        pulsar.AuthenticationBasic("me", "secret"),
        pulsar.AuthenticationTLS("cert.pem", "key.pem"),
    ],
    ids=["token", "basic", "tls"],
)
def test_who_shows_credentials_is_told_that_nobody_checks_them(
    magnetar_broker, topic, authentication
):
    client = open_client(magnetar_broker.service_url, authentication=authentication)
    with pytest.raises(pulsar.AuthenticationError):
        client.create_producer(topic)
    client.close()


def test_a_client_without_credentials_is_served_also_over_http(magnetar_broker, topic):
    with pytest.raises(pulsar.PulsarException):
        found_over_http(magnetar_broker, topic, pulsar.AuthenticationToken("a.b.c"))
    found_over_http(magnetar_broker, topic, None)


def found_over_http(broker, topic, authentication):
    client = open_client(broker.web_url, authentication=authentication)
    try:
        client.create_producer(topic)
    finally:
        client.close()
