"""Where a broker keeps its metadata: in its own folder, or in the ZooKeeper of a cluster."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from magnetar.errors import InvalidValue
from magnetar.late_dataclass import dataclass

from .setting import refusal_texts, setting

_URL: Final = "metadataStoreUrl"
_FORM: Final = "zk:host:2181,host:2181/path, the servers of one ZooKeeper ensemble"
_SERVER: Final = re.compile(r"([^:\[\]]+|\[[^\[\]]+\])(:\d+)?")
"""A name or an address; those of IPv6 are in brackets."""


@dataclass(frozen=True, slots=True)
class MetadataSettings:
    """The metadata store of a cluster; none, where a broker is alone."""

    url: str = setting(
        _URL,
        "",
        f"{_FORM}; ledgers are then at the bookies of that cluster. When absent, metadata and "
        "ledgers are in dataDirectory",
    )
    configuration_url: str = setting(
        "configurationMetadataStoreUrl", "", "metadataStoreUrl once more, where it is given at all"
    )
    former_url: str = setting("zookeeperServers", "", "the former name of metadataStoreUrl")
    former_configuration_url: str = setting(
        "configurationStoreServers", "", "the former name of configurationMetadataStoreUrl"
    )
    session_timeout_ms: int = setting(
        "metadataStoreSessionTimeoutMillis",
        30_000,
        "a broker that ZooKeeper has not heard of for so long has lost its topics",
        minimum=1000,
    )
    former_session_timeout_ms: int = setting(
        "zooKeeperSessionTimeoutMillis",
        -1,
        "the former name of metadataStoreSessionTimeoutMillis; -1: not given",
        minimum=-1,
    )
    operation_timeout_s: int = setting(
        "metadataStoreOperationTimeoutSeconds",
        30,
        "how long ZooKeeper is waited for when the broker starts",
        minimum=1,
    )
    credentials: str = setting(
        "zookeeperCredentials",
        "",
        "user:password of ZooKeeper's scheme digest; what the broker writes is then that user's",
        secret=True,
    )
    tls: bool = setting("zookeeperTlsEnabled", False, "speak TLS with ZooKeeper")
    tls_trust_certs: Path | None = setting(
        "zookeeperTlsTrustCertsFilePath", None, "who signs the certificates of ZooKeeper, in PEM"
    )
    tls_certificate: Path | None = setting(
        "zookeeperTlsCertificateFilePath", None, "the broker's certificate for ZooKeeper, in PEM"
    )
    tls_key: Path | None = setting("zookeeperTlsKeyFilePath", None, "its private key, in PEM")

    @property
    def in_cluster(self) -> bool:
        """Whether the metadata are those of a cluster; else the broker is alone."""
        return bool(self.url or self.former_url)

    @property
    def servers(self) -> str:
        """host:port,host:port/path of ZooKeeper. Raises InvalidValue."""
        return servers_of(self.url or self.former_url)

    @property
    def session_timeout_s(self) -> float:
        """After how long without a word a session ends."""
        former = self.former_session_timeout_ms
        return (former if former > 0 else self.session_timeout_ms) / 1000


def servers_of(url: str) -> str:
    """The servers, and the path, of the URL of a metadata store. Raises InvalidValue."""
    servers = url.strip().removeprefix("zk:").removeprefix("//")
    if servers and not all(map(_SERVER.fullmatch, servers.partition("/")[0].split(","))):
        raise InvalidValue(f"say {_FORM}")
    return servers.rstrip("/")


def metadata_refusals(metadata: MetadataSettings, sources: Mapping[str, str]) -> list[str]:
    """What cannot be meant, each with the remedy."""
    found = []
    given = {
        _URL: metadata.url,
        "zookeeperServers": metadata.former_url,
        "configurationMetadataStoreUrl": metadata.configuration_url,
        "configurationStoreServers": metadata.former_configuration_url,
    }
    servers: dict[str, str] = {}
    for key, value in given.items():
        try:
            servers[key] = servers_of(value)
        except InvalidValue as error:
            found.append((key, value, str(error)))
    one = servers.get(_URL) or servers.get("zookeeperServers", "")
    for key, value in servers.items():
        if value and value != one and not found:
            remedy = f"one ensemble has all metadata, and {_URL} says {one or 'none'}: say the same"
            found.append((key, given[key], remedy))
    if metadata.credentials and ":" not in metadata.credentials:
        found.append(("zookeeperCredentials", "***", "say user:password"))
    if metadata.tls and metadata.tls_trust_certs is None:
        remedy = "nothing would say whose certificate to trust: set zookeeperTlsTrustCertsFilePath"
        found.append(("zookeeperTlsEnabled", "true", remedy))
    return refusal_texts(found, sources)
