"""Pulsar's settings that Magnetar does not have, and what becomes of each. Pure.

The keys are those of Pulsar 4.0's ``standalone.conf`` and ``broker.conf``, the rest of its
``ServiceConfiguration``, and a few newer ones. Behind a key are the values that Pulsar's own files
have for it, or that ask for nothing. A group that refuses takes these alone; a ``+`` marks one that
asks for what is not done, and is taken because Pulsar's files switch it on for everybody. In the
other groups any value goes, since none has an effect.

``docs/settings.md`` is made of this table.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from .pulsar_tuning import TUNING


class Group(NamedTuple):
    """Settings that are treated alike, for one reason."""

    about: str
    refuses: bool
    reason: str  # Why other values stop the start, or why none has an effect.
    settings: Mapping[str, tuple[str, ...]]  # By key: values, without the packages of Java classes.


def _refused(about: str, reason: str, settings: str) -> Group:
    return Group(about, refuses=True, reason=reason, settings=_parsed(settings))


def _without_effect(about: str, reason: str, settings: str) -> Group:
    return Group(about, refuses=False, reason=reason, settings=_parsed(settings))


def _parsed(settings: str) -> dict[str, tuple[str, ...]]:
    pairs = (one.partition("=") for one in settings.split())
    return {key: tuple(values.split("|")) if values else () for key, _, values in pairs}


GROUPS: Final = (
    _refused(
        "authentication and authorisation",
        "Magnetar has no authentication or authorisation yet: whoever reaches its ports may do "
        "everything, so keep others away from them (bindAddress, a firewall)",
        """
allowAclChangesOnNonExistentTopics=false anonymousUserRole= athenzDomainNames=
authenticateMetricsEndpoint=false authenticateOriginalAuthData=false authenticationEnabled=false
authenticationProviders= authenticationRefreshCheckSeconds=60
authorizationAllowWildcardsMatching=false authorizationEnabled=false
authorizationProvider=PulsarAuthorizationProvider basicAuthConf=
bookkeeperClientAuthenticationParameters= bookkeeperClientAuthenticationParametersName=
bookkeeperClientAuthenticationPlugin= brokerClientAuthenticationParameters=
brokerClientAuthenticationPlugin=AuthenticationDisabled
grantImplicitPermissionOnSubscription=true inflightSaslContextExpiryMs=30000
kinitCommand=/usr/bin/kinit managedLedgerPassword= maxInflightSaslContext=50000 proxyRoles=
saslJaasClientAllowedIds=.*pulsar.* saslJaasServerRoleTokenSignerSecretPath=
saslJaasServerSectionName=PulsarBroker superUserRoles= tokenAudience= tokenAudienceClaim=
tokenAuthClaim= tokenPublicKey= tokenSecretKey=
""",
    ),
    _refused(
        "TLS",
        "Magnetar does not speak TLS yet: where the network is not trusted, let a TLS proxy on "
        "this machine pass connections on",
        """
bookkeeper_tlsHostnameVerificationEnabled=false bookkeeperTlsCertFilesRefreshDurationSeconds=300
bookkeeperTLSCertificateFilePath= bookkeeperTLSClientAuthentication=false
bookkeeperTLSKeyFilePath= bookkeeperTLSKeyFileType=PEM bookkeeperTLSKeyStorePasswordPath=
bookkeeperTLSProviderFactoryClass=TLSContextFactory bookkeeperTLSTrustCertsFilePath=
bookkeeperTLSTrustCertTypes=PEM bookkeeperTLSTrustStorePasswordPath=
brokerClientCertificateFilePath= brokerClientKeyFilePath=
brokerClientSslFactoryPlugin=DefaultPulsarSslFactory brokerClientSslFactoryPluginParams=
brokerClientSslProvider= brokerClientTlsCiphers= brokerClientTlsEnabled=false
brokerClientTlsEnabledWithKeyStore=false brokerClientTlsKeyStore=
brokerClientTlsKeyStorePassword= brokerClientTlsKeyStoreType=JKS brokerClientTlsProtocols=
brokerClientTlsTrustStore= brokerClientTlsTrustStorePassword= brokerClientTlsTrustStoreType=JKS
brokerClientTrustCertsFilePath= brokerServicePortTls= replicationTlsEnabled=false
sslFactoryPlugin=DefaultPulsarSslFactory sslFactoryPluginParams=
tlsAllowInsecureConnection=false tlsCertificateFilePath= tlsCertRefreshCheckDurationSec=300
tlsCiphers= tlsEnabled=false tlsEnabledWithKeyStore=false tlsHostnameVerificationEnabled=false
tlsKeyFilePath= tlsKeyStore= tlsKeyStorePassword= tlsKeyStoreType=JKS tlsProtocols= tlsProvider=
tlsRequireTrustedClientCertOnConnect=false tlsTrustCertsFilePath= tlsTrustStore=
tlsTrustStorePassword= tlsTrustStoreType=JKS webServicePortTls= webServiceTlsCiphers=
webServiceTlsProtocols= webServiceTlsProvider=Conscrypt
""",
    ),
    _refused(
        "listeners and proxies",
        "Magnetar listens on bindAddress, tells clients advertisedAddress, and takes the address "
        "that a connection comes from for its client's",
        """
advertisedListeners= bindAddresses= haProxyProtocolEnabled=false internalListenerName=
webServiceHaProxyProtocolEnabled=false webServiceTrustXForwardedFor=false
""",
    ),
    _refused(
        "deduplication, transactions, delayed delivery",
        "Magnetar has no deduplication, transactions or delayed delivery yet",
        """
brokerDeduplicationEnabled=false delayedDeliveryEnabled=false|+true
delayedDeliveryMaxDelayInMillis=0 isDelayedDeliveryDeliverAtTimeStrict=false
transactionCoordinatorEnabled=false
""",
    ),
    _refused(
        "expiry, quotas, inactive topics, compaction",
        "Magnetar deletes only what was acknowledged: it has no TTL, backlog quotas, expiry of "
        "subscriptions and topics, or compaction yet",
        """
backlogQuotaDefaultLimitBytes=-1|0 backlogQuotaDefaultLimitGB=-1|0|+10
backlogQuotaDefaultLimitSecond=-1|0 brokerDeleteInactivePartitionedTopicMetadataEnabled=false
brokerDeleteInactiveTopicsEnabled=false|+true
brokerDeleteInactiveTopicsMaxInactiveDurationSeconds=
brokerDeleteInactiveTopicsMode=delete_when_no_subscriptions
brokerServiceCompactionThresholdInBytes=0 subscriptionExpirationTimeMinutes=0
ttlDurationDefaultInSeconds=0
""",
    ),
    _refused(
        "rates",
        "Magnetar has no limits of rates yet: it slows who publishes faster than it stores",
        """
brokerPublisherThrottlingMaxByteRate=0 brokerPublisherThrottlingMaxMessageRate=0
dispatchThrottlingRateInByte=0 dispatchThrottlingRateInMsg=0
dispatchThrottlingRatePerReplicatorInByte=0 dispatchThrottlingRatePerReplicatorInMsg=0
dispatchThrottlingRatePerSubscriptionInByte=0 dispatchThrottlingRatePerSubscriptionInMsg=0
dispatchThrottlingRatePerTopicInByte=0 dispatchThrottlingRatePerTopicInMsg=0
httpRequestsLimitEnabled=false maxPublishRatePerTopicInBytes=0
maxPublishRatePerTopicInMessages=0 resourceUsageTransportClassName=
subscribeThrottlingRatePerConsumer=0
""",
    ),
    _refused(
        "limits",
        "Magnetar does not have this limit; docs/limits.md lists those that it has",
        """
httpMaxRequestSize=-1|0 maxNamespacesPerTenant=0
maxSameAddressConsumersPerTopic=0 maxSameAddressProducersPerTopic=0 maxTenants=0
maxUnackedMessagesPerBroker=0
""",
    ),
    _refused(
        "topics",
        "Magnetar has persistent topics alone, and no policies of single topics yet",
        """
enableNonPersistentTopics=false|+true enablePersistentTopics=true
topicLevelPoliciesEnabled=false|+true
""",
    ),
    _refused(
        "schemas",
        "Magnetar knows no schema yet but bytes, and refuses clients that bring another",
        """
isSchemaValidationEnforced=false schemaCompatibilityStrategy=FULL
""",
    ),
    _refused(
        "checks and switches",
        "Magnetar does not have this check or switch",
        """
bootstrapNamespaces= clientLibraryVersionCheckEnabled=false
dispatcherPauseOnAckStatePersistentEnabled=false encryptionRequireOnProducer=false
forceDeleteNamespaceAllowed=false forceDeleteTenantAllowed=false
strictlyVerifySubscriptionName=false strictTopicNameEnabled=false
subscriptionKeySharedEnable=true subscriptionTypesEnabled=Exclusive,Shared,Failover,Key_Shared
""",
    ),
    _refused(
        "damaged data",
        "Magnetar never skips data that it cannot read; docs/crash.md says what it does",
        """
autoSkipNonRecoverableData=false managedLedgerForceRecovery=false
schemaLedgerForceRecovery=false
""",
    ),
    _refused(
        "clusters and copies",
        "Magnetar is one broker that keeps one copy in its own folder (dataDirectory): it has no "
        "clusters, ZooKeeper, BookKeeper or geo-replication yet",
        """
bookkeeperMetadataServiceUri= clusterMigrationAutoResourceCreation=false
clusterMigrationCheckDurationSeconds=0 configurationMetadataStoreUrl=
configurationMetadataSyncEventTopic= configurationStoreConfigPath= configurationStoreServers=
enableRunBookieAutoRecoveryTogether=false enableRunBookieTogether=false
failureDomainsEnabled=false globalZookeeperServers= managedLedgerDefaultAckQuorum=1|+2
managedLedgerDefaultEnsembleSize=1|+2 managedLedgerDefaultWriteQuorum=1|+2
metadataStoreConfigPath= metadataStoreUrl= metadataSyncEventTopic= zookeeperServers=
""",
    ),
    _refused(
        "offloading",
        "Magnetar keeps everything in its own folder (dataDirectory)",
        """
managedLedgerOffloadAutoTriggerSizeThresholdBytes=-1 managedLedgerOffloadDriver=
managedLedgerOffloadThresholdInSeconds=-1 triggerOffloadOnTopicLoad=false
""",
    ),
    _refused(
        "functions and plug-ins",
        "Magnetar runs no functions, no WebSocket service and no Java classes",
        """
additionalServlets= allowOverrideEntryFilters=false brokerEntryMetadataInterceptors=
brokerEntryPayloadProcessors= brokerInterceptors=
compactionServiceFactoryClassName=PulsarCompactionServiceFactory enablePackagesManagement=false
entryFilterNames= exposingBrokerEntryMetadataToClientEnabled=false functionsWorkerEnabled=false
functionsWorkerEnablePackageManagement=false
managedLedgerStorageClassName=ManagedLedgerClientFactory messagingProtocols=
topicFactoryClassName= topicPoliciesServiceClassName=SystemTopicBasedTopicPoliciesService
webSocketServiceEnabled=false|+true
""",
    ),
    *(_without_effect(*one) for one in TUNING),
)
GROUP_OF: Final[Mapping[str, Group]] = {key: group for group in GROUPS for key in group.settings}
