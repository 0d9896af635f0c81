"""Every key of Pulsar's that has to do with security: honoured, refused, or of something else.

Which is which was written down by hand, and a key that is in none of the lists fails: somebody has
to say what becomes of it.
"""

import re
from pathlib import Path

import pytest

from magnetar.broker.config import Config
from magnetar.broker.settings.others import Status
from magnetar.broker.settings.properties import parse_properties
from magnetar.broker.settings.pulsar import pulsar_keys
from magnetar.errors import InvalidValue


def names(text):
    return text.split()


HONOURED = names("""
anonymousUserRole authenticateHealthEndpoints authenticateMetricsEndpoint
authenticateOriginalAuthData authenticationEnabled
authenticationProviders authenticationRefreshCheckSeconds authorizationAllowWildcardsMatching
authorizationEnabled basicAuthConf bindAddress brokerClientAuthenticationParameters
brokerClientAuthenticationPlugin brokerClientCertificateFilePath brokerClientKeyFilePath
brokerClientTlsEnabled brokerClientTrustCertsFilePath brokerServicePortTls
encryptionRequireOnProducer managedLedgerPassword metadataStoreOperationTimeoutSeconds
metadataStoreSessionTimeoutMillis metadataStoreUrl proxyRoles superUserRoles tenantTokenIssuers
tlsAllowInsecureConnection tlsCertificateFilePath tlsCertRefreshCheckDurationSec tlsCiphers
tlsEnabled tlsKeyFilePath tlsProtocols tlsRequireTrustedClientCertOnConnect
tlsTrustCertsFilePath tokenAllowedClockSkewSeconds tokenAudience tokenAudienceClaim
tokenAuthClaim tokenJwks tokenPublicAlg tokenPublicKey tokenSecretKey webServicePort
webServicePortTls zookeeperCredentials zookeeperTlsCertificateFilePath zookeeperTlsEnabled
zookeeperTlsKeyFilePath zookeeperTlsTrustCertsFilePath
bookkeeperTLSCertificateFilePath bookkeeperTLSClientAuthentication bookkeeperTLSKeyFilePath
bookkeeperTLSKeyStorePasswordPath bookkeeperTLSTrustCertsFilePath
bookkeeper_tlsHostnameVerificationEnabled
""")
"""Other tests show what each does: tests/security, test_auth.py, test_tls.py, test_metadata.py."""

REFUSED = names("""
advertisedListeners allowAclChangesOnNonExistentTopics athenzDomainNames authorizationProvider
bindAddresses bookkeeperClientAuthenticationParameters
bookkeeperClientAuthenticationParametersName bookkeeperClientAuthenticationPlugin
bookkeeperTlsCertFilesRefreshDurationSeconds bookkeeperTLSKeyFileType
bookkeeperTLSProviderFactoryClass bookkeeperTLSTrustCertTypes bookkeeperTLSTrustStorePasswordPath
brokerClientSslFactoryPlugin brokerClientSslFactoryPluginParams brokerClientSslProvider
brokerClientTlsCiphers brokerClientTlsEnabledWithKeyStore brokerClientTlsKeyStore
brokerClientTlsKeyStorePassword brokerClientTlsKeyStoreType brokerClientTlsProtocols
brokerClientTlsTrustStore brokerClientTlsTrustStorePassword brokerClientTlsTrustStoreType
grantImplicitPermissionOnSubscription haProxyProtocolEnabled
httpMaxRequestSize httpRequestsLimitEnabled inflightSaslContextExpiryMs internalListenerName
kinitCommand maxInflightSaslContext metadataStoreConfigPath
openIDAcceptedTimeLeewaySeconds openIDAllowedAudiences
openIDAllowedTokenIssuers openIDCacheExpirationSeconds openIDCacheRefreshAfterWriteSeconds
openIDCacheSize openIDFallbackDiscoveryMode openIDHttpConnectionTimeoutMillis
openIDHttpReadTimeoutMillis openIDKeyIdCacheMissRefreshSeconds openIDRequireIssuersUseHttps
openIDRoleClaim openIDTokenIssuerTrustCertsFilePath replicationTlsEnabled
saslJaasClientAllowedIds saslJaasServerRoleTokenSignerSecretPath saslJaasServerSectionName
sslFactoryPlugin sslFactoryPluginParams strictlyVerifySubscriptionName strictTopicNameEnabled
tlsEnabledWithKeyStore tlsHostnameVerificationEnabled tlsKeyStore tlsKeyStorePassword
tlsKeyStoreType tlsProvider tlsTrustStore tlsTrustStorePassword tlsTrustStoreType
webServiceHaProxyProtocolEnabled webServiceTlsCiphers webServiceTlsProtocols
webServiceTlsProvider webServiceTrustXForwardedFor
""")
"""They stop the start where they ask for something."""

OF_SOMETHING_ELSE = names("""
disableHttpDebugMethods httpMaxRequestHeaderSize httpRequestsFailOnUnknownPropertiesEnabled
httpRequestsMaxPerSecond httpServerAcceptQueueSize httpServerGzipCompressionExcludedPaths
httpServerIdleTimeout httpServerThreadPoolQueueSize metadataStoreAllowReadOnlyOperations
metadataStoreBatchingEnabled metadataStoreBatchingMaxDelayMillis
metadataStoreBatchingMaxOperations metadataStoreBatchingMaxSizeKb
metadataStoreCacheExpirySeconds metadataStoreSerDesThreads
webServiceLogDetailedAddresses
""")
"""They tune what is not there, and are named with the reason."""

WORDS = re.compile(
    "acl|athenz|auth(?!or$)|bindAddress|^brokerClient|bookkeeper_?tls|cert(?!ransfer)|cipher|credential|^http|"
    "disableHttp|jaas|kinit|krb|listener|^metadataStore|openid|passw|permission|principal|proxy|"
    "role|sasl|secret|ssl|^strict(ly|Topic)|tls|token|webService|xforwarded|encrypt",
    re.IGNORECASE,
)
CONF = Path(__file__).parents[3] / "golden" / "conf"
OWN = {key for key, *_ in Config.read().rows()}


def test_every_key_about_security_is_in_one_list():
    files = [(CONF / name).read_text() for name in ("standalone.conf", "broker.conf")]
    keys = {pair.key for text in files for pair in parse_properties(text)} | pulsar_keys() | OWN
    about = {key for key in keys if WORDS.search(key)}
    assert len(about) > 120
    listed = [*HONOURED, *REFUSED, *OF_SOMETHING_ELSE]
    assert about ^ set(listed) == set()
    assert len(about) == len(listed)


@pytest.mark.parametrize("key", HONOURED)
def test_what_is_honoured_is_a_setting(key):
    assert key in OWN


@pytest.mark.parametrize("key", REFUSED)
def test_what_is_not_done_stops_the_start_with_its_name_and_the_remedy(key):
    with pytest.raises(InvalidValue) as refused:
        Config.read(flags={key: "hunter2"})
    text = str(refused.value)
    assert text.startswith(f"{key}='")
    assert "Take it out" in text or "Take the setting out" in text
    secret = re.search("password|secret|params|parameters$", key, re.IGNORECASE)
    assert not secret or "hunter2" not in text


@pytest.mark.parametrize("key", OF_SOMETHING_ELSE)
def test_what_is_of_something_else_is_named_with_the_reason(key):
    [other] = Config.read(flags={key: "7"}).others
    assert other.status is Status.WITHOUT_EFFECT
    assert other.text.startswith(f"{key}=7 (flag) has no effect: ")
