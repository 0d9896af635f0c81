from dataclasses import dataclass, fields

import pytest

from magnetar.client.authentication.tls import AuthenticationTls
from magnetar.client.authentication.token import AuthenticationToken
from magnetar.client.config import ClientConfig, ClientOptions
from magnetar.client.connections.credentials import Credentials
from magnetar.client.failover import ServiceInfo
from magnetar.errors import InvalidValue, NotAuthenticated


def test_the_keyword_arguments_are_the_settings():
    settings = {field.name: field.type for field in fields(ClientConfig)}
    del settings["service_url"]
    assert settings == ClientOptions.__annotations__


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("lookup_redirects_max", -1),
        ("partitions_refresh_s", "often"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(setting, value):
    with pytest.raises(InvalidValue, match=setting if value != "" else "name"):
        ClientConfig(service_url="pulsar://h", **{setting: value})


CERTIFICATE = {"tls_certificate_file": "c.pem", "tls_key_file": "k.pem"}


@pytest.mark.parametrize(
    ("url", "settings", "reason"),
    [
        ("pulsar://h", {"tls_trust_certs_file": "ca.pem"}, r"use pulsar\+ssl"),
        ("pulsar://h", CERTIFICATE, r"use pulsar\+ssl"),
        ("pulsar://h", {"authentication": AuthenticationTls("c", "k")}, "needs TLS"),
        ("pulsar+ssl://h", {"tls_certificate_file": "c.pem"}, "go together"),
        ("pulsar+ssl://h", {"tls_minimum_version": "SSLv3"}, "one of TLSv1.2, TLSv1.3"),
        ("pulsar+ssl://h", {"tls_verify_hostname": "no"}, "True or False"),
        ("pulsar+ssl://h", {"tls_allow_insecure": 0}, "True or False"),
        (
            "pulsar+ssl://h",
            {"authentication": AuthenticationTls("c", "k"), **CERTIFICATE},
            "twice",
        ),
        ("pulsar://h", {"authentication": "token:s3cret"}, "authentication is str"),
        ("pulsar://me:s3cret@h", {}, "authentication="),
        ("pulsar://h", {"listener_name": 5}, "listener_name"),
    ],
)
def test_a_setting_of_security_is_never_ignored(url, settings, reason):
    with pytest.raises(InvalidValue, match=reason) as raised:
        ClientConfig(service_url=url, **settings)
    assert "s3cret" not in str(raised.value)


@dataclass
class Careless:
    """An application's own method of authentication, which shows what it should not."""

    token: str
    method: str = "mine"

    async def data(self):
        return self.token.encode()


def test_a_configuration_shows_no_secret():
    for shown in (AuthenticationToken("s3cret"), Careless("s3cret")):
        config = ClientConfig(service_url="pulsar://h", authentication=shown)
        assert "s3cret" not in repr(config)
        assert "s3cret" not in repr(ServiceInfo("pulsar://h", shown))
        assert "s3cret" not in str(Credentials(shown).refusal("h:1", NotAuthenticated("no")))


def test_the_certificate_is_that_of_either_way():
    shown = AuthenticationTls("c.pem", "k.pem")
    for settings in (CERTIFICATE, {"authentication": shown}):
        config = ClientConfig(service_url="pulsar+ssl://h", **settings)
        assert config.certificate == ("c.pem", "k.pem")
