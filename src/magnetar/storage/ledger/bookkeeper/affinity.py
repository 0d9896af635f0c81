"""The groups of bookies that a namespace prefers, for the ledgers of its topics.

Pulsar keeps them in the namespace's local policies, and with each ledger, so that whoever puts
another bookie in the place of one that failed, also BookKeeper's AutoRecovery, keeps to them.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from magnetar.errors import CorruptEntry
from magnetar.model.names import NamespaceName
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore

from .racks import IsolationGroups

_LOG: Final = "pulsar/managed-ledger"
_KEPT: Final = "EnsemblePlacementPolicyConfig"
_POLICY: Final = "org.apache.pulsar.bookie.rackawareness.IsolatedBookieEnsemblePlacementPolicy"
_PRIMARY, _SECONDARY = "isolationBookieGroups", "secondaryIsolationBookieGroups"


async def with_affinity(
    metadata: MetadataStore, custom: Mapping[str, bytes]
) -> Mapping[str, bytes]:
    """What is kept with a new ledger, and the groups of its namespace, where that has some.

    ``metadata`` has the namespaces. Raises CorruptEntry, and what the store does.
    """
    log = custom.get(_LOG)
    if log is None:
        return custom
    tenant, namespace = log.decode().split("/")[:2]
    path = paths.local_policies(NamespaceName(tenant, namespace))
    record = await metadata.get(path)
    policies = {} if record is None else _object(record.value, path)
    groups = policies.get("bookieAffinityGroup") or {}
    primary = groups.get("bookkeeperAffinityGroupPrimary")
    if not primary:
        return custom
    secondary = groups.get("bookkeeperAffinityGroupSecondary") or ""
    kept = {"policyClass": _POLICY, "properties": {_PRIMARY: primary, _SECONDARY: secondary}}
    return {**custom, _KEPT: json.dumps(kept).encode()}


def affinity_in(custom: Mapping[str, bytes]) -> IsolationGroups | None:
    """The groups that are kept with a ledger. Raises CorruptEntry."""
    if _KEPT not in custom:
        return None
    kept = _object(custom[_KEPT], f"{_KEPT} of a ledger")
    if kept.get("policyClass") != _POLICY:
        return None
    groups = kept.get("properties") or {}
    return IsolationGroups(_names(groups.get(_PRIMARY)), _names(groups.get(_SECONDARY)))


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name for name in (text or "").split(",") if name)


def _object(data: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError as error:
        raise CorruptEntry(f"{where} cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise CorruptEntry(f"{where} is no object of JSON")
    return value
