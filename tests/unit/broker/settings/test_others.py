import pytest

from magnetar.broker.settings.others import Status, correction_of, is_about_security, judge
from magnetar.broker.settings.pulsar import pulsar_keys

OWN = ("brokerServicePort", "webServicePort", "maxMessageSize", "brokerDeduplicationEnabled")


def status(key: str, value: str) -> Status:
    return judge(key, value, "test", OWN).status


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("saslJaasClientAllowedIds", "x"),
        ("bookkeeperTLSTrustStorePasswordPath", "/key.pem"),
        ("tlsEnabledWithKeyStore", "true"),
        ("tlsKeyStore", "/keys.jks"),
        ("haProxyProtocolEnabled", "true"),
        ("advertisedListeners", "internal:pulsar://10.0.0.1:6650"),
        ("maxUnackedMessagesPerBroker", "2"),
        ("triggerOffloadOnTopicLoad", "true"),
        ("functionsWorkerEnablePackageManagement", "true"),
        ("metadataSyncEventTopic", "t"),
        ("globalZookeeperServers", "zk1:2181"),
    ],
)
def test_what_asks_for_what_is_not_done_is_refused(key, value):
    assert status(key, value) is Status.REFUSED
    assert status(key, "") is Status.AS_SHIPPED


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("webSocketServiceEnabled", " False "),
        ("bookkeeperTLSTrustStorePasswordPath", ""),
        ("tlsKeyStoreType", "JKS"),
        ("webServiceTlsProvider", "Conscrypt"),
        (
            "authorizationProvider",
            "org.apache.pulsar.broker.authorization.PulsarAuthorizationProvider",
        ),
        ("loadBalancerTransferEnabled", "true"),
    ],
)
def test_what_asks_for_nothing_passes(key, value):
    assert status(key, value) is Status.AS_SHIPPED


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("webSocketServiceEnabled", "true"),
    ],
)
def test_what_pulsars_files_switch_on_is_taken_and_named(key, value):
    assert status(key, value) is Status.NOT_DONE


def test_what_only_tunes_has_no_effect():
    found = judge("managedLedgerNumSchedulerThreads", "12", "file x, line 3", OWN)
    assert found.status is Status.WITHOUT_EFFECT
    assert found.text == (
        "managedLedgerNumSchedulerThreads=12 (file x, line 3) has no effect: How Pulsar caches, "
        "compresses and times what it keeps in BookKeeper."
    )


def test_a_refusal_names_key_value_source_and_remedy():
    assert judge("haProxyProtocolEnabled", "true", "file x, line 3", OWN).text == (
        "haProxyProtocolEnabled='true' (file x, line 3): Magnetar listens on bindAddress, tells "
        "clients advertisedAddress, and takes the address that a connection comes from for its "
        "client's. Take the setting out, or say false"
    )
    assert judge("kinitCommand", "x", "s", OWN).text.endswith("or say /usr/bin/kinit")
    assert judge("globalZookeeperServers", "x", "s", OWN).text.endswith(". Take it out")


@pytest.mark.parametrize(
    "key",
    [
        "tokenSecretKey",
        "tlsKeyStorePassword",
        "brokerClientAuthenticationParameters",
        "MAGNETAR_MY_TOKEN",
        "somePassword",
    ],
)
def test_a_secret_is_not_shown(key):
    found = judge(key, "hunter2", "test", OWN)
    assert found.status is Status.REFUSED
    assert "hunter2" not in found.text
    assert found.value == "***"


@pytest.mark.parametrize(
    "key",
    [
        "authEnabled",
        "tlsEnable",
        "MAGNETAR_TLS_ENABLE",
        "superuserRole",
        "openIDIssuer",
        "openIdIssuers",
        "myKeyStore",
        "brokerSSLPort",
        "jwtKey",
        "requireEncryption",
        "aclFile",
    ],
)
def test_an_unknown_setting_about_security_is_never_ignored(key):
    assert is_about_security(key)
    assert status(key, "x") is Status.REFUSED
    assert status(key, "true") is Status.REFUSED
    assert status(key, "false") is Status.UNKNOWN
    assert status(key, "") is Status.UNKNOWN


@pytest.mark.parametrize(
    "key", ["ledgerRolloverTime", "maxPermits", "crosslink", "clientLsn", "extra"]
)
def test_other_unknown_settings_are_not_taken_for_it(key):
    assert not is_about_security(key)
    assert status(key, "true") is Status.UNKNOWN


@pytest.mark.parametrize(
    ("key", "correction"),
    [
        ("brokerServicePrt", "brokerServicePort"),
        ("brokerserviceport", "brokerServicePort"),
        ("maxMesageSize", "maxMessageSize"),
        ("MAGNETAR_WEB_SERVICE_PRT", "MAGNETAR_WEB_SERVICE_PORT"),
        ("saslJaasServerSectionNam", "saslJaasServerSectionName"),
        ("brokerDeduplicationEnable", "brokerDeduplicationEnabled"),
        ("athenz", ""),
        ("MAGNETAR_NO_SUCH", ""),
    ],
)
def test_a_likely_typo_comes_with_its_correction(key, correction):
    assert correction_of(key, [*OWN, *pulsar_keys()]) == correction
    found = judge(key, "1", "test", OWN)
    assert found.text.endswith(f"did you mean {correction}?") == bool(correction)
