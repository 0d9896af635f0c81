import pytest

from magnetar.model.broker_address import BrokerAddress, is_loopback


@pytest.mark.parametrize(
    ("host", "service_url", "web_url", "loopback"),
    [
        ("localhost", "pulsar://localhost:6650", "http://localhost:8080", True),
        ("127.0.0.9", "pulsar://127.0.0.9:6650", "http://127.0.0.9:8080", True),
        ("::1", "pulsar://[::1]:6650", "http://[::1]:8080", True),
        ("10.0.0.1", "pulsar://10.0.0.1:6650", "http://10.0.0.1:8080", False),
        ("broker.example", "pulsar://broker.example:6650", "http://broker.example:8080", False),
    ],
)
def test_an_address_tells_urls_and_whether_it_means_this_machine(
    host, service_url, web_url, loopback
):
    address = BrokerAddress.of(host, 6650, 8080)
    assert address == BrokerAddress(service_url, web_url)
    assert is_loopback(address.host) is loopback


def test_without_an_admin_api_there_is_no_web_url_and_the_name_is_of_its_clients_port():
    address = BrokerAddress.of("localhost", 6650, None)
    assert (address.web_url, address.name) == ("", "localhost:6650")
