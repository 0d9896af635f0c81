import pytest

from magnetar.errors import NotAllowed
from magnetar.proxy.settings import BrokerSettings
from magnetar.proxy.targets import Targets


def known(address):
    return address == "broker:6650"


@pytest.mark.parametrize(
    ("settings", "address", "allowed"),
    [
        ({}, "broker:6650", True),
        ({}, "other:6650", False),
        ({"allowed_hosts": ("*",)}, "other:1", True),
        ({"allowed_hosts": ("broker-*", "b")}, "Broker-7:1", True),
        ({"allowed_hosts": ("broker-*",)}, "other:1", False),
        ({"allowed_hosts": ("*",), "check_active": True}, "other:1", False),
        ({"allowed_ports": ("6650", "7000-7010")}, "broker:6650", True),
        ({"allowed_ports": ("7000-7010",)}, "broker:6650", False),
        ({"allowed_ports": ("*",)}, "broker:6650", True),
    ],
)
def test_a_target_is_a_broker_or_what_an_operator_allows(settings, address, allowed):
    targets = Targets.of(BrokerSettings(**settings))
    if allowed:
        targets.check(address, known)
    else:
        with pytest.raises(NotAllowed):
            targets.check(address, known)


def test_what_a_name_stands_for_must_be_in_an_allowed_network():
    targets = Targets.of(BrokerSettings(allowed_addresses=("10.0.0.0/8", "::1")))
    targets.check_resolved("broker:1", ["10.1.2.3", "::1"])
    with pytest.raises(NotAllowed, match=r"192\.168\.0\.1"):
        targets.check_resolved("broker:1", ["10.1.2.3", "192.168.0.1"])
