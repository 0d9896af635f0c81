"""How a broker of a cluster keeps entries: at how many bookies, and how long it waits for them."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final, Literal

from magnetar.errors import InvalidValue
from magnetar.late_dataclass import dataclass

from .others import OtherSetting, Status
from .setting import refusal_text, refusal_texts, setting

DigestName = Literal["CRC32C", "CRC32", "MAC", "DUMMY"]
_COPIES: Final = {
    "managedLedgerDefaultEnsembleSize": "ensemble_size",
    "managedLedgerDefaultWriteQuorum": "write_quorum",
    "managedLedgerDefaultAckQuorum": "ack_quorum",
}
_URI: Final = re.compile(
    r"(?:metadata-store:zk|zk(?:\+\w+)?):(?://)?([^/]+)((?:/[^/]+)*?)(/[^/]+)/?"
)
_ADD_SIZE: Final = 256
"""More than what is sent with an entry: the head of the request and of the entry, a digest."""
_SHIPPED: Final = 2
"""Copies in Pulsar's own ``broker.conf``, which many start from who have one machine."""


@dataclass(frozen=True, slots=True)
class BookieSettings:
    """What holds for the ledgers of a cluster, where a namespace does not say otherwise."""

    ensemble_size: int = setting(
        "managedLedgerDefaultEnsembleSize", 2, "bookies that a ledger is spread over", minimum=1
    )
    write_quorum: int = setting(
        "managedLedgerDefaultWriteQuorum", 2, "copies of each entry", minimum=1
    )
    ack_quorum: int = setting(
        "managedLedgerDefaultAckQuorum", 2, "copies that are on disk before a receipt", minimum=1
    )
    digest: DigestName = setting(
        "managedLedgerDigestType", "CRC32C", "how entries are protected against bad disks"
    )
    password: str = setting(
        "managedLedgerPassword", "", "of the broker's ledgers; the same for ever", secret=True
    )
    timeout_s: int = setting(
        "bookkeeperClientTimeoutInSeconds", 30, "how long a bookie is waited for", minimum=1
    )
    speculative_read_ms: int = setting(
        "bookkeeperClientSpeculativeReadTimeoutInMillis",
        0,
        "then another bookie is asked too; 0: after 2 s",
    )
    frame_size_max: int = setting(
        "bookkeeper_nettyMaxFrameSizeBytes",
        5_253_120,
        "what bookies take at once, as nettyMaxFrameSizeBytes there; at their start brokers ask "
        "each whether it does",
        minimum=64 * 1024,
    )
    service_uri: str = setting(
        "bookkeeperMetadataServiceUri",
        "",
        "zk+hierarchical://host:2181/ledgers; when absent, /ledgers in metadataStoreUrl",
    )
    rack_aware: bool = setting(
        "bookkeeperClientRackawarePolicyEnabled",
        True,
        "the copies of an entry are on several racks, where there are bookies for that; "
        "`magnetar admin bookies set-bookie-rack` says where a bookie stands",
    )
    racks_min: int = setting(
        "bookkeeperClientMinNumRacksPerWriteQuorum",
        2,
        "racks that have a copy of an entry",
        minimum=1,
    )
    racks_enforced: bool = setting(
        "bookkeeperClientEnforceMinNumRacksPerWriteQuorum",
        False,
        "rather write nothing than on fewer racks",
    )
    isolation_groups: tuple[str, ...] = setting(
        "bookkeeperClientIsolationGroups",
        (),
        "groups of bookies that ledgers are written to; bookies of other groups get none, and "
        "those of no group may",
    )
    secondary_groups: tuple[str, ...] = setting(
        "bookkeeperClientSecondaryIsolationGroups",
        (),
        "groups that help out where fewer bookies are there than an ensemble needs",
    )

    @property
    def entry_size_max(self) -> int:
        """The bytes of the largest entry that bookies take."""
        return self.frame_size_max - _ADD_SIZE

    @property
    def servers(self) -> str:
        """The ZooKeeper that lists bookies; empty where metadataStoreUrl says it."""
        return servers_and_root(self.service_uri)[0] if self.service_uri else ""

    @property
    def ledgers_root(self) -> str:
        """Below which bookies and ledgers are listed. Raises InvalidValue."""
        return servers_and_root(self.service_uri)[1] if self.service_uri else "/ledgers"


def servers_and_root(uri: str) -> tuple[str, str]:
    """Where a URI says that bookies are listed: the servers, and the root. Raises InvalidValue."""
    match = _URI.fullmatch(uri.strip())
    if match is None:
        raise InvalidValue("say zk+hierarchical://host:2181/ledgers")
    servers, path, root = match.groups()
    return servers.replace(";", ",") + path, root


def bookkeeper_refusals(
    bookkeeper: BookieSettings, sources: Mapping[str, str], *, alone: bool
) -> list[str]:
    """What cannot be meant, each with the remedy; ``alone``: there is no cluster."""
    given = {key: getattr(bookkeeper, name) for key, name in _COPIES.items()}
    if alone:
        remedy = "a broker without metadataStoreUrl keeps one copy: set that, or say 1"
        found = [
            (key, str(value), remedy)
            for key, value in given.items()
            if key in sources and value > _SHIPPED
        ]
        if bookkeeper.password:
            remedy = "nothing has a password in dataDirectory: set metadataStoreUrl, or take it out"
            found.append(("managedLedgerPassword", "***", remedy))
        if bookkeeper.service_uri:
            remedy = "there is no cluster without metadataStoreUrl: set that, too"
            found.append(("bookkeeperMetadataServiceUri", bookkeeper.service_uri, remedy))
    else:
        remedy = "each is at most the one before: ensemble size, write quorum, ack quorum"
        sizes = list(given.items())
        found = [
            (key, str(value), remedy)
            for (_, larger), (key, value) in pairwise(sizes)
            if value > larger
        ]
        if bookkeeper.service_uri:
            try:
                servers_and_root(bookkeeper.service_uri)
            except InvalidValue as error:
                found.append(("bookkeeperMetadataServiceUri", bookkeeper.service_uri, str(error)))
    return refusal_texts(found, sources)


def copies_not_made(bookkeeper: BookieSettings, sources: Mapping[str, str]) -> list[OtherSetting]:
    """What is said of the copies in Pulsar's own files by a broker that is alone."""
    text = "one copy is kept, as there is no metadataStoreUrl"
    return [
        OtherSetting(
            key,
            str(_SHIPPED),
            Status.NOT_DONE,
            refusal_text(key, str(_SHIPPED), sources[key], text),
        )
        for key, name in _COPIES.items()
        if key in sources and getattr(bookkeeper, name) == _SHIPPED
    ]
