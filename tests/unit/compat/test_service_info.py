"""Clusters are described as in the official client."""

import pulsar
import pytest

from magnetar import compat

BOTH = pytest.mark.parametrize("client", [pulsar, compat], ids=["official", "ours"])


@BOTH
def test_a_cluster_says_what_it_was_told(client):
    info = client.ServiceInfo("pulsar+ssl://a:1", tls_trust_certs_file_path="/x")
    assert (info.service_url, info.use_tls, info.tls_trust_certs_file_path) == (
        "pulsar+ssl://a:1",
        True,
        "/x",
    )
    assert repr(info) == (
        "ServiceInfo(service_url='pulsar+ssl://a:1', use_tls=True, tls_trust_certs_file_path='/x')"
    )
    assert not client.ServiceInfo("pulsar://a:1").use_tls


@BOTH
def test_a_url_needs_a_protocol(client):
    with pytest.raises(ValueError, match="scheme"):
        client.ServiceInfo("xxx")


@BOTH
def test_failover_has_limits(client):
    primary, other = client.ServiceInfo("pulsar://a:1"), client.ServiceInfo("pulsar://b:1")
    failover = client.AutoClusterFailover(primary, [other])
    assert (failover.check_interval_ms, failover.failover_threshold) == (5000, 1)
    assert "switch_back_threshold=1" in repr(failover)
    with pytest.raises(ValueError, match="at least one"):
        client.AutoClusterFailover(primary, [])
    with pytest.raises(ValueError, match="secondary"):
        client.AutoClusterFailover(primary, ["pulsar://b:1"])
    for name in ("check_interval_ms", "failover_threshold", "switch_back_threshold"):
        with pytest.raises(ValueError, match=name):
            client.AutoClusterFailover(primary, [other], **{name: 0})
        with pytest.raises(ValueError, match=name):
            client.AutoClusterFailover(primary, [other], **{name: "1"})


@BOTH
def test_a_provider_is_to_be_derived_from(client):
    provider = client.ServiceInfoProvider()
    with pytest.raises(NotImplementedError):
        provider.initial_service_info()
    with pytest.raises(NotImplementedError):
        provider.initialize(print)
    provider.close()


def test_wrap_is_the_same():
    info = compat.ServiceInfo("pulsar://a:1")
    assert compat.ServiceInfo.wrap(info) is info
