from pathlib import Path

import pytest

from magnetar.broker.settings.others import Status, is_about_security
from magnetar.broker.settings.properties import parse_properties
from magnetar.errors import InvalidValue
from magnetar.proxy.config import KEYS, OF_PROXIES, ProxyConfig

SHIPPED = Path(__file__).parents[2] / "golden" / "conf" / "proxy.conf"
BROKER = {"brokerServiceURL": "pulsar://broker:6650"}


def test_a_proxy_conf_as_it_is_shipped_starts_a_proxy_that_knows_its_brokers():
    config = ProxyConfig.read(file=SHIPPED, flags=BROKER)
    assert {one.status for one in config.others} == {Status.AS_SHIPPED}
    assert config.auth.metrics
    assert config.brokers.allowed_ports == ("6650", "6651")


def test_every_key_of_the_shipped_file_is_honoured_refused_or_named():
    shipped = {pair.key for pair in parse_properties(SHIPPED.read_text())}
    assert not shipped - KEYS - OF_PROXIES.keys, "put them into proxy/pulsar.toml"
    assert not KEYS & OF_PROXIES.keys


def test_what_concerns_security_is_refused_and_never_ignored():
    secure = [key for key in OF_PROXIES.keys if is_about_security(key)]
    assert [key for key in secure if not OF_PROXIES.group_of(key).refuses] == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "say where the brokers are"),
        ({"brokerServiceURL": "http://broker:8080"}, "say pulsar://host:port"),
        ({**BROKER, "tlsEnabledWithBroker": True}, "brokerServiceURLTLS=pulsar\\+ssl://"),
        ({**BROKER, "brokerProxyAllowedIPAddresses": "nowhere"}, "no address and no network"),
        ({**BROKER, "brokerProxyAllowedTargetPorts": "all"}, "neither a port nor a range"),
        ({**BROKER, "forwardAuthorizationCredentials": True}, "asks nobody for credentials"),
        ({**BROKER, "servicePortTls": 0}, "set tlsCertificateFilePath and tlsKeyFilePath"),
        ({**BROKER, "sniRoutingEnabled": True}, "set servicePortTls, too"),
        ({**BROKER, "webSocketServiceEnabled": True}, "WebSocket"),
        ({**BROKER, "proxyRoles": "me"}, "what concerns security is never ignored"),
        ({**BROKER, "brokerClientKeyFilePath": "/key"}, "brokerClientCertificateFilePath and"),
        ({**BROKER, "tlsRequireTrustedClientCertOnConnect": True}, "nobody could check them"),
        ({**BROKER, "servicePort": "many"}, "whole number"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_remedy(settings, said):
    with pytest.raises(InvalidValue, match=said):
        ProxyConfig.read(flags=settings)


def test_a_setting_comes_from_the_environment_and_is_shown_with_its_source():
    environment = {"MAGNETAR_SERVICE_PORT": "7000", "MAGNETAR_BROKER_SERVICE_URL": "pulsar://b:1"}
    rows = {
        key: (value, source)
        for key, value, source, _ in ProxyConfig.read_to_show(environment=environment).rows()
    }
    assert rows["servicePort"] == ("7000", "environment MAGNETAR_SERVICE_PORT")


def test_a_proxy_that_asks_nobody_warns_where_others_reach_it():
    config = ProxyConfig.read(flags={**BROKER, "bindAddress": "0.0.0.0"})
    assert "asked who it is" in config.warnings[0]
    assert not ProxyConfig.read(flags=BROKER).warnings
