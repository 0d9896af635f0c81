"""The settings of one broker, read once from all their sources, frozen.

A setting is known outside by its key, which is Pulsar's own name where the meaning is the same. Its
value comes from, the later the stronger: its default, a file in Java's properties format, the
environment (``MAGNETAR_BROKER_SERVICE_PORT`` for ``brokerServicePort``), a command line's flag.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

from magnetar.errors import InvalidValue
from magnetar.late_dataclass import dataclass
from magnetar.model.broker_address import is_loopback

from .settings.auth import AuthSettings, refusals
from .settings.bookie_tls import BookieTlsSettings, bookie_tls_refusals
from .settings.bookkeeper import BookieSettings, bookkeeper_refusals, copies_not_made
from .settings.connections import ConnectionSettings
from .settings.housekeeping import HousekeepingSettings
from .settings.load import LoadSettings
from .settings.log import LogSettings
from .settings.metadata import MetadataSettings, metadata_refusals
from .settings.metrics import MetricSettings
from .settings.offload import OffloadSettings
from .settings.others import OtherSetting, Status, correction_of, judge
from .settings.policies import PolicySettings
from .settings.properties import read_properties
from .settings.pulsar import group_of, pulsar_keys
from .settings.rates import RateSettings
from .settings.replication import ReplicationSettings
from .settings.server import PORT_MAX, PROCESSES_MAX, ServerSettings, own_port
from .settings.setting import (
    ENVIRONMENT_PREFIX,
    refusal_text,
    rows_of,
    section_from,
    sections_of,
    settings_of,
    text_of,
    variable_of,
)
from .settings.storage import StorageSettings
from .settings.tls import TlsSettings
from .settings.tls import refusals as tls_refusals
from .settings.traces import TraceSettings, from_opentelemetry
from .settings.transactions import TransactionSettings
from .topics.settings import TopicSettings

_IMAGES_PREFIX: Final = "PULSAR_PREFIX_"  # Of the key itself: Pulsar's image takes them so.
_OTHERS: Final = (f"{ENVIRONMENT_PREFIX}SPARK_", f"{ENVIRONMENT_PREFIX}INNER")
"""Beginnings of variables that are no settings: the Spark connector's, which a broker that its
process starts inherits, and the one of ``magnetar.inner``."""

_WORDS: Final = re.compile(r"\w+")
_PORTS: Final = ("brokerServicePort", "webServicePort")


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one broker, and where each came from."""

    server: ServerSettings = field(default_factory=ServerSettings)
    connections: ConnectionSettings = field(default_factory=ConnectionSettings)
    auth: AuthSettings = field(default_factory=AuthSettings)
    tls: TlsSettings = field(default_factory=TlsSettings)
    policies: PolicySettings = field(default_factory=PolicySettings)
    rates: RateSettings = field(default_factory=RateSettings)
    topics: TopicSettings = field(default_factory=TopicSettings)
    transactions: TransactionSettings = field(default_factory=TransactionSettings)
    replication: ReplicationSettings = field(default_factory=ReplicationSettings)
    storage: StorageSettings = field(default_factory=StorageSettings)
    metadata: MetadataSettings = field(default_factory=MetadataSettings)
    bookkeeper: BookieSettings = field(default_factory=BookieSettings)
    bookie_tls: BookieTlsSettings = field(default_factory=BookieTlsSettings)
    offload: OffloadSettings = field(default_factory=OffloadSettings)
    housekeeping: HousekeepingSettings = field(default_factory=HousekeepingSettings)
    load: LoadSettings = field(default_factory=LoadSettings)
    metrics: MetricSettings = field(default_factory=MetricSettings)
    traces: TraceSettings = field(default_factory=TraceSettings)
    log: LogSettings = field(default_factory=LogSettings)
    # Those above are the sections, in the order in which they are shown.
    sources: Mapping[str, str] = field(default_factory=dict)
    """By key; a key at its default is absent."""
    others: tuple[OtherSetting, ...] = ()  # Settings that Magnetar does not have, by key.
    wrong: Mapping[str, str] = field(default_factory=dict)
    """By key, what is said of values that are none of theirs: they are at their defaults."""

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
        if config.refused:
            raise InvalidValue("\n".join(config.refused))
        return config

    @classmethod
    def read_to_show(
        cls,
        *,
        file: Path | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
        flags: Mapping[str, object] = MappingProxyType({}),
    ) -> Self:
        """The same, with what is ``refused``: not to start a broker with."""
        given, sources = ({}, {}) if file is None else read_properties(file, _KEYS, _PORTS)
        for variable, value in environment.items():
            if variable.startswith(_IMAGES_PREFIX):
                key = variable.removeprefix(_IMAGES_PREFIX)
                given[key], sources[key] = value, f"environment {variable}"
        for variable, value in environment.items():
            if variable.startswith(ENVIRONMENT_PREFIX) and not variable.startswith(_OTHERS):
                key = _key_of(variable)
                source = "environment" if key == variable else f"environment {variable}"
                given[key], sources[key] = value, source
        from_opentelemetry(environment, given, sources)
        for key, flag in flags.items():
            if key not in _KEYS and group_of(key) is None:
                hint = correction_of(key, [*_KEYS, *pulsar_keys()])
                raise InvalidValue(f"there is no setting {key}" + (hint and f": say {hint}"))
            if flag is not None:
                given[key], sources[key] = text_of(flag), "flag"
        wrong: dict[str, str] = {}
        sections = {
            name: section_from(section, given, sources, wrong)
            for name, section in _SECTIONS.items()
        }
        others = [
            judge(key, given[key], sources[key], _KEYS) for key in sorted(given.keys() - _KEYS)
        ]
        if not sections["metadata"].in_cluster:
            others += copies_not_made(sections["bookkeeper"], sources)
        return cls(
            **sections,
            wrong=MappingProxyType(wrong),
            sources=MappingProxyType(sources),
            others=tuple(others),
        )

    @property
    def refused(self) -> list[str]:
        """Why no broker may start with these settings, each with the remedy.

        What a setting that is wrong would mean for the others is not known, and not told.
        """
        others = [one.text for one in self.others if one.status is Status.REFUSED]
        of_tls = tls_refusals(self.tls, self.auth, self.sources)
        found = refusals(self.auth, self.sources) + of_tls + others + self._refused_stores()
        if self.server.functions_worker and self.auth.enabled and not self.auth.has_client:
            remedy = "its worker has to sign in, too: set brokerClientAuthenticationPlugin and "
            remedy += "brokerClientAuthenticationParameters (`magnetar init-auth` writes them)"
            source = self.sources.get("functionsWorkerEnabled", "default")
            found.append(refusal_text("functionsWorkerEnabled", "true", source, remedy))
        if self.server.processes != 1:
            found += self._refused_processes()
        return [
            *self.wrong.values(),
            *(text for text in found if not self.wrong.keys() & set(_WORDS.findall(text))),
        ]

    def _refused_processes(self) -> list[str]:
        """What is of one process alone."""
        alone = {
            "storageInMemory": (self.storage.in_memory, "nothing is shared that is stored nowhere"),
            "metadataStoreUrl": (
                self.metadata.in_cluster,
                "each broker of a cluster is a process, started by itself",
            ),
            "functionsWorkerEnabled": (
                self.server.functions_worker,
                "each would start a worker: start one by itself, with `magnetar functions worker`",
            ),
        }
        source, said = self.sources.get("processes", "default"), str(self.server.processes)
        found = [
            refusal_text("processes", said, source, f"{key} is for one process, as {why}")
            for key, (given, why) in alone.items()
            if given
        ]
        last = (self.server.processes or PROCESSES_MAX) - 1
        ports = (self.server.broker_port, self.server.web_port, self.tls.port, self.tls.web_port)
        highest = own_port(max(each or 0 for each in ports), last)
        if highest > PORT_MAX:
            remedy = f"the last process would listen at {highest}: choose lower ports"
            found.append(refusal_text("processes", said, source, remedy))
        return found

    def _refused_stores(self) -> list[str]:
        wrong = metadata_refusals(self.metadata, self.sources)
        if wrong:
            return wrong
        alone = not self.metadata.in_cluster
        wrong = bookkeeper_refusals(self.bookkeeper, self.sources, alone=alone)
        wrong += bookie_tls_refusals(self.bookie_tls, self.sources, alone=alone)
        if not alone and self.connections.message_size_max > self.bookkeeper.entry_size_max:
            source = self.sources.get("maxMessageSize", "default")
            remedy = f"bookies take {self.bookkeeper.frame_size_max} bytes at once "
            remedy += "(bookkeeper_nettyMaxFrameSizeBytes): raise that here and at bookies, or "
            remedy += f"say {self.bookkeeper.entry_size_max} at most"
            size = str(self.connections.message_size_max)
            wrong.append(refusal_text("maxMessageSize", size, source, remedy))
        if self.metadata.in_cluster and self.storage.in_memory:
            source = self.sources["storageInMemory"]
            remedy = "metadataStoreUrl names a cluster that stores everything: take one of them out"
            wrong.append(refusal_text("storageInMemory", "true", source, remedy))
        return wrong

    @property
    def warnings(self) -> list[str]:
        """What a broker starts with, and may not be meant, each with the remedy."""
        host = self.server.bind_address
        if self.auth.enabled or is_loopback(host):
            return []
        remedy = (
            "whoever reaches this machine may read, write and delete everything, as nobody is "
            "asked who it is: `magnetar init-auth` writes what changes that, or listen on 127.0.0.1"
        )
        return [
            refusal_text("bindAddress", host, self.sources.get("bindAddress", "default"), remedy)
        ]

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Key, value, source and explanation of every setting. Secrets are not shown."""
        return rows_of(self, _SECTIONS, self._source)

    def _source(self, key: str) -> str:
        source = self.sources.get(key, "default")
        return f"default: what {source} says is refused" if key in self.wrong else source


_SECTIONS: Final = sections_of(Config)
_KEYS: Final = frozenset(one.key for section in _SECTIONS.values() for one in settings_of(section))
_KEYS_BY_VARIABLE: Final = {variable_of(key): key for key in _KEYS}


def _key_of(variable: str) -> str:
    """The key of an environment variable; where neither Magnetar nor Pulsar has one, itself."""
    if variable in _KEYS_BY_VARIABLE:
        return _KEYS_BY_VARIABLE[variable]
    return next((key for key in pulsar_keys() if variable_of(key) == variable), variable)
