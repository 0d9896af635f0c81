import pytest

from magnetar.client.authentication.token import AuthenticationToken
from magnetar.client.failover import AutoClusterFailover, ControlledClusterFailover, ServiceInfo
from magnetar.errors import InvalidValue


def test_each_cluster_has_its_own_and_the_clients_settings():
    shown, other = AuthenticationToken("a"), AuthenticationToken("b")
    failover = AutoClusterFailover(
        "pulsar+ssl://a", [ServiceInfo("pulsar+ssl://b", other, "/b.pem"), "pulsar+ssl://c"]
    )
    options = {"authentication": shown, "tls_trust_certs_file": "/a.pem", "listener_name": "x"}
    found = [
        (one.service_url, one.authentication, one.tls_trust_certs_file, one.listener_name)
        for one in failover.configs(options)
    ]
    assert found == [
        ("pulsar+ssl://a", shown, "/a.pem", "x"),
        ("pulsar+ssl://b", other, "/b.pem", "x"),
        ("pulsar+ssl://c", shown, "/a.pem", "x"),
    ]


def test_what_a_provider_answers_is_over_the_clients_settings():
    way = ControlledClusterFailover("pulsar+ssl://a", "https://provider.example/where")
    options = {"tls_trust_certs_file": "/a.pem"}
    assert [one.service_url for one in way.configs(options)] == ["pulsar+ssl://a"]
    told = way.told(b'{"serviceUrl": "pulsar+ssl://b", "authPluginClassName": ""}', options)
    assert (told.service_url, told.authentication) == ("pulsar+ssl://b", None)
    assert told.tls_trust_certs_file == "/a.pem"
    told = way.told(
        b'{"serviceUrl": "pulsar+ssl://b", "tlsTrustCertsFilePath": "/b.pem",'
        b' "authPluginClassName": "org.apache.pulsar.client.impl.auth.AuthenticationToken",'
        b' "authParamsString": "token:t"}',
        options,
    )
    assert told.tls_trust_certs_file == "/b.pem"
    assert isinstance(told.authentication, AuthenticationToken)
    for answer in (b"", b"[]", b'{"url": "pulsar://b"}', b'{"serviceUrl": 5}'):
        with pytest.raises(InvalidValue, match="a serviceUrl"):
            way.told(answer, options)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: AutoClusterFailover("pulsar://a", []), "at least one"),
        (lambda: AutoClusterFailover("pulsar://a", "pulsar://b"), "a list"),
        (lambda: AutoClusterFailover("pulsar://a", ["pulsar://b"], check_interval_s=0), "check_in"),
        (
            lambda: AutoClusterFailover("pulsar://a", ["pulsar://b"], failover_delay_s=-1),
            "failover",
        ),
        (lambda: ServiceInfo("http://a"), "needs pulsar://"),
        (lambda: ControlledClusterFailover("pulsar://a", "provider"), "url_provider"),
        (lambda: ControlledClusterFailover("pulsar://a", "https://a:s3cret@b"), "url_provider"),
        (lambda: ServiceInfo("pulsar://me:s3cret@a"), "service URL"),
        (lambda: AutoClusterFailover("nonsense", ["pulsar://b"]).configs({}), "service URL"),
        (
            lambda: AutoClusterFailover("pulsar+ssl://a", ["pulsar://b"]).configs(
                {"tls_trust_certs_file": "/a.pem"}
            ),
            "tls_trust_certs_file is set, but pulsar://b",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(make, says):
    with pytest.raises(InvalidValue, match=says) as raised:
        make()
    assert "s3cret" not in str(raised.value)
