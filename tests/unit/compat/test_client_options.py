"""Each argument of their client is a setting of ours, is refused, or named in a warning."""

import inspect
import re

import pytest

from magnetar import compat
from magnetar.client.config import ClientConfig
from magnetar.compat.client_options import client_options, clusters

URL = "pulsar://a:1"


def config(service_url=URL, **given):
    parameters = inspect.signature(compat.Client).parameters.values()
    defaults = {each.name: each.default for each in parameters if each.name != "logger"}
    options = client_options(**defaults | given | {"service_url": service_url})
    return ClientConfig(service_url=service_url, **options)


def test_the_defaults_are_theirs():
    made = config()
    assert (made.operation_timeout_s, made.connection_timeout_s) == (30, 10)
    assert made.authentication is None
    assert (made.memory_limit_bytes, made.stats_interval_s) == (0, 600)
    assert not made.tls_verify_hostname, "as insecure as theirs"


def test_a_client_is_set_up():
    token = compat.AuthenticationToken("secret")
    made = config(
        "pulsar+ssl://a:1",
        authentication=token,
        message_listener_threads=3,
        operation_timeout_seconds=5,
        connection_timeout_ms=500,
        listener_name="external",
        tls_trust_certs_file_path="/trusted",
        tls_allow_insecure_connection=True,
        tls_validate_hostname=True,
        tls_certificate_file_path="/cert",
        tls_private_key_file_path="/key",
    )
    assert made.authentication is token.auth
    assert (made.operation_timeout_s, made.connection_timeout_s) == (5, 0.5)
    assert (made.listener_name, made.listener_threads) == ("external", 3)
    assert (made.tls_trust_certs_file, made.tls_allow_insecure) == ("/trusted", True)
    assert made.tls_verify_hostname
    assert (made.tls_certificate_file, made.tls_key_file) == ("/cert", "/key")


def test_several_clusters_are_watched():
    primary = compat.ServiceInfo("pulsar://a:1", compat.AuthenticationToken("secret"))
    other = compat.ServiceInfo("pulsar+ssl://b:1", tls_trust_certs_file_path="/x")
    given = compat.AutoClusterFailover(primary, [other], 500, 3, 5)
    ours = clusters(given)
    assert ours.primary.authentication is primary._authentication.auth
    assert [each.tls_trust_certs_file for each in ours.secondaries] == ["/x"]
    assert (ours.check_interval_s, ours.failover_delay_s, ours.switch_back_delay_s) == (0.5, 1, 2)
    with pytest.raises(ValueError, match="authentication is not supported"):
        config(given, authentication=primary._authentication)
    assert clusters(primary).authentication is primary._authentication.auth


def test_what_bears_on_speed_only_is_named_in_a_warning(caplog):
    config(io_threads=4, concurrent_lookup_requests=5)
    assert "name=io_threads" in caplog.text
    assert "name=concurrent_lookup_requests" in caplog.text
    caplog.clear()
    config(log_conf_file_path="/x", use_tls=True)  # They do nothing in theirs either.
    assert caplog.text == ""


def test_every_argument_is_checked_by_its_name():
    for name in set(inspect.signature(compat.Client).parameters) - {"service_url", "logger"}:
        with pytest.raises(ValueError, match=re.escape(name)):
            config(**{name: object()})


@pytest.mark.parametrize("url", [5, "nowhere"])
def test_a_url_has_a_protocol(url):
    with pytest.raises(ValueError, match=r"service_url|scheme"):
        config(url)


@pytest.mark.parametrize(
    ("name", "value"),
    [("operation_timeout_seconds", 0), ("io_threads", 0), ("stats_interval_in_seconds", -1)],
)
def test_what_is_out_of_range_is_refused(name, value):
    with pytest.raises(ValueError, match=name):
        config(**{name: value})
