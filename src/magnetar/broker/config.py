"""Every setting of a broker, in sections, read once, frozen.

A setting is known outside by its key, which is Pulsar's own name where the meaning is the same. Its
value comes from, the later the stronger: its default, a file in Java's properties format, the
environment (``MAGNETAR_BROKER_SERVICE_PORT`` for ``brokerServicePort``), a command line's flag.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, Literal, Self

from magnetar.errors import InvalidValue
from magnetar.model.policies import Policies
from magnetar.model.policy_values import (
    AutoSubscriptionCreationOverride,
    AutoTopicCreationOverride,
    RetentionPolicies,
)
from magnetar.model.subscriptions import SubscriptionType

from .other_settings import Fate, OtherSetting, correction_of, judge
from .properties import parse_properties
from .pulsar_settings import GROUP_OF
from .setting import ENVIRONMENT_PREFIX, Key, section_from, settings_of, text_of, variable_of
from .topics.settings import TopicSettings

MIB: Final = 1024 * 1024

Durability = Literal["fsync", "interval", "none"]
TopicType = Literal["non-partitioned", "partitioned"]


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the broker listens, and what it calls itself."""

    bind_address: Annotated[
        str, Key("bindAddress", "address to listen on; 0.0.0.0 lets other machines in")
    ] = "127.0.0.1"
    advertised_address: Annotated[
        str,
        Key(
            "advertisedAddress",
            "host name or address that lookups tell clients; when absent it follows bindAddress: "
            "localhost, that address, or for 0.0.0.0 this machine's host name",
        ),
    ] = ""
    broker_port: Annotated[
        int,
        Key(
            "brokerServicePort",
            "port of the binary protocol; 0 picks a free one",
            minimum=0,
            maximum=65535,
        ),
    ] = 6650
    web_port: Annotated[
        int,
        Key(
            "webServicePort",
            "port of the admin REST API; 0 picks a free one, -1 switches it off",
            minimum=-1,
            maximum=65535,
        ),
    ] = 8080
    cluster: Annotated[str, Key("clusterName", "name of the cluster this broker serves")] = (
        "standalone"
    )
    shutdown_timeout_ms: Annotated[
        int, Key("brokerShutdownTimeoutMs", "how long a clean shutdown may take", minimum=0)
    ] = 10_000


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """What a client's connection may do, and how a dead one is noticed."""

    message_size_max: Annotated[
        int,
        Key(
            "maxMessageSize",
            "largest message in bytes, as told to clients",
            minimum=1024,
            maximum=1024 * MIB,
        ),
    ] = 5 * MIB
    keep_alive_interval_s: Annotated[
        int,
        Key(
            "keepAliveIntervalSeconds",
            "a silent peer is pinged after this, closed after twice this",
            minimum=1,
        ),
    ] = 30
    liveness_timeout_ms: Annotated[
        int,
        Key(
            "connectionLivenessCheckTimeoutMillis",
            "how long a client may take to answer when another claims its place",
            minimum=1,
        ),
    ] = 5000
    pending_publishes_max: Annotated[
        int,
        Key(
            "maxPendingPublishRequestsPerConnection",
            "sends of one connection not yet answered before it is no longer read",
            minimum=1,
        ),
    ] = 16_384
    pending_publish_bytes_max: Annotated[
        int, Key("maxPendingPublishBytesPerConnection", "the same, in bytes", minimum=1)
    ] = 32 * MIB
    publish_buffer_mb_max: Annotated[
        int,
        Key(
            "maxMessagePublishBufferSizeInMB",
            "the same for all connections together, in MiB",
            minimum=1,
        ),
    ] = 512
    connections_max: Annotated[
        int, Key("brokerMaxConnections", "connections at the same time; 0 is no limit", minimum=0)
    ] = 0
    connections_per_ip_max: Annotated[
        int,
        Key("brokerMaxConnectionsPerIp", "the same, from one address; 0 is no limit", minimum=0),
    ] = 0
    producers_max: Annotated[
        int,
        Key("maxProducersPerConnection", "producers of one connection; 0 is no limit", minimum=0),
    ] = 50_000
    consumers_max: Annotated[
        int,
        Key("maxConsumersPerConnection", "consumers of one connection; 0 is no limit", minimum=0),
    ] = 50_000


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """What may be created, and the policies of topics whose namespace says nothing else."""

    auto_topics: Annotated[
        bool, Key("allowAutoTopicCreation", "a topic is made when a client first uses it")
    ] = True
    auto_topic_kind: Annotated[
        TopicType, Key("allowAutoTopicCreationType", "what is made then")
    ] = "non-partitioned"
    auto_partitions: Annotated[
        int, Key("defaultNumPartitions", "partitions of a partitioned topic made then", minimum=1)
    ] = 1
    partitions_max: Annotated[
        int, Key("maxNumPartitionsPerPartitionedTopic", "0 is no limit", minimum=0)
    ] = 0
    topics_per_namespace_max: Annotated[
        int,
        Key("maxTopicsPerNamespace", "topics of a namespace; 0 is no limit", minimum=0),
    ] = 0
    auto_subscriptions: Annotated[
        bool, Key("allowAutoSubscriptionCreation", "a subscription is made when first used")
    ] = True
    producers_per_topic_max: Annotated[
        int, Key("maxProducersPerTopic", "producers of a topic; 0 is no limit", minimum=0)
    ] = 0
    consumers_per_topic_max: Annotated[
        int, Key("maxConsumersPerTopic", "consumers of a topic; 0 is no limit", minimum=0)
    ] = 0
    consumers_per_subscription_max: Annotated[
        int,
        Key("maxConsumersPerSubscription", "consumers of a subscription; 0 is no limit", minimum=0),
    ] = 0
    subscriptions_per_topic_max: Annotated[
        int, Key("maxSubscriptionsPerTopic", "subscriptions of a topic; 0 is no limit", minimum=0)
    ] = 0
    unacked_per_consumer_max: Annotated[
        int,
        Key(
            "maxUnackedMessagesPerConsumer",
            "unacknowledged messages before a Shared consumer gets no more; 0 is no limit",
            minimum=0,
        ),
    ] = 50_000
    unacked_per_subscription_max: Annotated[
        int,
        Key(
            "maxUnackedMessagesPerSubscription",
            "the same for all consumers of a subscription; 0 is no limit",
            minimum=0,
        ),
    ] = 200_000
    retention_minutes: Annotated[
        int,
        Key(
            "defaultRetentionTimeInMinutes",
            "how long acknowledged messages are kept; -1 is for ever",
            minimum=-1,
        ),
    ] = 0
    retention_mb: Annotated[
        int,
        Key(
            "defaultRetentionSizeInMB",
            "how much of acknowledged messages is kept for a topic, in MiB; -1 is no limit",
            minimum=-1,
        ),
    ] = 0

    def policies(self) -> Policies:
        """The broker's level: all policies that are in force are set."""
        same = {field.name for field in fields(self)} & set(Policies.__slots__)
        return Policies(
            auto_topic_creation=AutoTopicCreationOverride(
                self.auto_topics, self.auto_topic_kind, self.auto_partitions
            ),
            auto_subscription_creation=AutoSubscriptionCreationOverride(self.auto_subscriptions),
            retention=RetentionPolicies(self.retention_minutes, self.retention_mb),
            subscription_types=tuple(each.printed for each in SubscriptionType),
            **{name: getattr(self, name) for name in same},
        )


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """Where messages are kept, how safely and how long."""

    data_directory: Annotated[
        Path, Key("dataDirectory", "folder of everything stored; made when absent")
    ] = Path("data")
    in_memory: Annotated[bool, Key("storageInMemory", "keep everything in memory, for tests")] = (
        False
    )
    durability: Annotated[
        Durability,
        Key(
            "durability",
            "fsync: a receipt means it is on disk; interval: synced every so often; none: the "
            "operating system decides",
        ),
    ] = "fsync"
    sync_interval_ms: Annotated[
        int, Key("durabilityIntervalMillis", "how often with durability=interval", minimum=1)
    ] = 1000
    segment_size: Annotated[
        int,
        Key(
            "logSizeLimit",
            "bytes of one file of the log that holds all entries",
            minimum=64 * 1024,
            maximum=1024 * MIB,
        ),
    ] = 64 * MIB
    spare_mb_max: Annotated[
        int,
        Key(
            "logSpareSizeMB",
            "files of deleted entries kept to be overwritten, in MiB; at most eight files",
            minimum=0,
        ),
    ] = 512
    cache_mb: Annotated[
        int,
        Key(
            "managedLedgerCacheSizeMB",
            "memory for recent entries, for all topics together, in MiB",
            minimum=0,
        ),
    ] = 64
    entries_per_ledger_max: Annotated[
        int, Key("managedLedgerMaxEntriesPerLedger", "then a new ledger starts", minimum=1)
    ] = 50_000
    ledger_size_mb_max: Annotated[
        int, Key("managedLedgerMaxSizePerLedgerMbytes", "then a new ledger starts", minimum=1)
    ] = 2048
    ledger_age_min_minutes: Annotated[
        int,
        Key(
            "managedLedgerMinLedgerRolloverTimeMinutes", "no new ledger before this age", minimum=0
        ),
    ] = 10
    ledger_age_max_minutes: Annotated[
        int,
        Key("managedLedgerMaxLedgerRolloverTimeMinutes", "a new ledger after this age", minimum=1),
    ] = 240
    cursor_saves_per_s: Annotated[
        float,
        Key(
            "managedLedgerDefaultMarkDeleteRateLimit",
            "how often a second a cursor's acknowledgements are written",
            minimum=0.001,
        ),
    ] = 1.0
    cursor_ranges_max: Annotated[
        int,
        Key(
            "managedLedgerMaxUnackedRangesToPersist",
            "ranges of acknowledgements kept for a cursor",
            minimum=1,
        ),
    ] = 10_000
    retention_check_s: Annotated[
        int,
        Key("retentionCheckIntervalInSeconds", "how often old ledgers are looked for", minimum=1),
    ] = 120


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one broker, and where each came from."""

    server: ServerSettings = ServerSettings()
    connections: ConnectionSettings = ConnectionSettings()
    policies: PolicySettings = PolicySettings()
    topics: TopicSettings = field(default_factory=TopicSettings)
    storage: StorageSettings = StorageSettings()
    sources: Mapping[str, str] = field(
        default_factory=dict
    )  # By key; a key at its default is absent.
    others: tuple[OtherSetting, ...] = ()  # What was set and is none of ours, in order of its key.

    @classmethod
    def read(
        cls,
        *,
        file: Path | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
        flags: Mapping[str, object] = MappingProxyType({}),
    ) -> Self:
        """Put the sources together. Raises InvalidValue naming key, value and remedy.

        ``flags`` are by key, ``None`` where the flag was not given.
        """
        config = cls.read_to_show(file=file, environment=environment, flags=flags)
        refused = [one.text for one in config.others if one.fate is Fate.REFUSED]
        if refused:
            raise InvalidValue("\n".join(refused))
        return config

    @classmethod
    def read_to_show(
        cls,
        *,
        file: Path | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
        flags: Mapping[str, object] = MappingProxyType({}),
    ) -> Self:
        """The same, with what is refused among ``others``: not to start a broker with."""
        given, sources = _from_file(file) if file is not None else ({}, {})
        for variable, value in environment.items():
            if variable.startswith(ENVIRONMENT_PREFIX):
                key = _KEYS_BY_VARIABLE.get(variable, variable)
                source = "environment" if key == variable else f"environment {variable}"
                given[key], sources[key] = value, source
        for key, flag in flags.items():
            if key not in _KEYS and key not in GROUP_OF:
                hint = correction_of(key, _KEYS)
                raise InvalidValue(f"there is no setting {key}" + (hint and f": say {hint}"))
            if flag is not None:
                given[key], sources[key] = text_of(flag), "flag"
        return cls(
            server=section_from(ServerSettings, given, sources),
            connections=section_from(ConnectionSettings, given, sources),
            policies=section_from(PolicySettings, given, sources),
            topics=section_from(TopicSettings, given, sources),
            storage=section_from(StorageSettings, given, sources),
            sources=MappingProxyType(sources),
            others=tuple(
                judge(key, given[key], sources[key], _KEYS) for key in sorted(given.keys() - _KEYS)
            ),
        )

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Key, value, source and explanation of every setting, in the order of this file."""
        return [
            (
                one.key,
                text_of(getattr(section, one.name)),
                self.sources.get(one.key, "default"),
                one.outside.about,
            )
            for section in (
                self.server,
                self.connections,
                self.policies,
                self.topics,
                self.storage,
            )
            for one in settings_of(type(section))
        ]


_SECTIONS = (
    ServerSettings,
    ConnectionSettings,
    PolicySettings,
    TopicSettings,
    StorageSettings,
)
_KEYS = frozenset(one.key for section in _SECTIONS for one in settings_of(section))
_KEYS_BY_VARIABLE = {variable_of(key): key for key in (*GROUP_OF, *_KEYS)}


def _from_file(file: Path) -> tuple[dict[str, str], dict[str, str]]:
    """What a file sets, and where each came from.

    Pulsar's own files leave many keys empty to mean their default; so do we.
    """
    try:
        pairs = parse_properties(file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"cannot read the configuration file {file}: {error}") from error
    except InvalidValue as error:
        raise InvalidValue(f"configuration file {file}, {error}") from None
    given = {pair.key: pair for pair in pairs}
    kept = [pair for pair in given.values() if pair.value or pair.key not in _KEYS]
    return (
        {pair.key: pair.value for pair in kept},
        {pair.key: f"file {file}, line {pair.line}" for pair in kept},
    )
