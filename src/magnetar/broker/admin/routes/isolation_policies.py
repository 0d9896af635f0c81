"""Which brokers of a cluster serve which namespaces: what ``load_manager.py`` places by."""

import json
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.routes.clusters import cluster_name
from magnetar.broker.admin.services import RecordServices
from magnetar.broker.plain_patterns import plain_pattern
from magnetar.errors import InvalidValue, NotFound
from magnetar.model import jackson
from magnetar.model.records import Json
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Route
from magnetar.storage.metadata import paths

_LISTS: Final = ("namespaces", "primary", "secondary")
_FAILOVER: Final = "auto_failover_policy"
_KEYS: Final = (*_LISTS, _FAILOVER, "unload_scope")
_POLICY: Final = "min_available"
_LIMITS: Final = ("min_limit", "usage_threshold")


async def names(admin: RecordServices, request: Request) -> Reply:
    return shown(await _policies(admin, request))


async def get(admin: RecordServices, request: Request) -> Reply:
    name = _name(request)
    found = (await _policies(admin, request)).get(name)
    if found is None:
        raise NotFound(
            f"NamespaceIsolationPolicies for cluster {cluster_name(request)} does not have {name}"
        )
    return shown(found)


async def change(admin: RecordServices, request: Request) -> Reply:
    name, sent = _name(request), arguments.json_object(request) or {}
    await _existing(admin, request)
    try:
        policy = _read(sent)
    except InvalidValue:
        raise Rejection(400, _invalid(name, sent)) from None
    for expression in (each for key in _LISTS for each in policy.get(key, ())):
        _pattern(expression)
    where = paths.isolation_policies(cluster_name(request))
    await admin.resources.objects.put(where, **{name: policy})
    return done(("namespaceIsolationPolicies",) if admin.health.load_report is None else ())


async def delete(admin: RecordServices, request: Request) -> Reply:
    await _existing(admin, request)
    where = paths.isolation_policies(cluster_name(request))
    await admin.resources.objects.put(where, **{_name(request): None})
    return done()


async def brokers(admin: RecordServices, request: Request) -> Reply:
    """The brokers that a policy names, of those there are."""
    policies, there = await _policies(admin, request), await admin.owners.brokers.all()
    found = [_of_broker(policies, each.name) for each in there]
    return shown([each for each in found if each is not None])


async def broker(admin: RecordServices, request: Request) -> Reply:
    asked = request.segments["broker"]
    found = _of_broker(await _policies(admin, request), asked)
    return shown(found or {"brokerName": asked, "primary": False})


def assigned(policies: Json, namespace: str, broker: str) -> Json:
    """How a policy, if any is about a namespace, has a broker serve it, in Pulsar's words."""
    for policy in policies.values():
        if any(_pattern(each).fullmatch(namespace) for each in policy.get("namespaces", ())):
            primary = any(_pattern(each).fullmatch(broker) for each in policy.get("primary", ()))
            kind = "primary" if primary else "secondary"
            return {"broker_assignment": kind, "is_controlled": True}
    return {}


def _of_broker(policies: Json, name: str) -> Json | None:
    for policy_name, policy in policies.items():
        for key in ("primary", "secondary"):
            if any(_pattern(each).fullmatch(name) for each in policy.get(key, ())):
                return {
                    "brokerName": name,
                    "policyName": policy_name,
                    "namespaceRegex": policy["namespaces"],
                    "primary": key == "primary",
                }
    return None


def _pattern(text: str) -> Any:
    pattern = plain_pattern(text, "pattern of brokers or namespaces")
    if pattern is None:
        raise InvalidValue(f"{text!r:.100} is too much of a pattern: use plain ones, as broker-.*")
    return pattern


def _read(sent: Json) -> Json:
    """A policy as it is kept. Raises InvalidValue for what is none."""
    policy = {key: sent[key] for key in _KEYS if sent.get(key) is not None}
    policy |= {key: jackson.texts(policy[key], key) for key in _LISTS if key in policy}
    failover = policy.get(_FAILOVER)
    if not isinstance(failover, dict) or failover.get("policy_type") != _POLICY:
        raise InvalidValue(f"{_FAILOVER} has no policy_type {_POLICY}")
    limits = jackson.text_map(failover.get("parameters"), "parameters")
    if not (policy.get("namespaces") and policy.get("primary") and limits.keys() >= set(_LIMITS)):
        raise InvalidValue(f"namespaces, primary, {' and '.join(_LIMITS)} must be there")
    return policy | {_FAILOVER: {**failover, "parameters": limits}}


def _invalid(name: str, sent: Json) -> str:
    """Why, in Pulsar's words and in its layout."""
    items = [f'  "{key}" : {_laid_out(sent.get(key))}' for key in _KEYS]
    data = ",\n".join(items)
    return f"Invalid format of input policy data. policy: {name}; data: {{\n{data}\n}}"


def _laid_out(value: Any) -> str:
    text = json.dumps(value)
    return f"[ {text[1:-1]} ]".replace("  ", " ") if isinstance(value, list) else text


async def _policies(admin: RecordServices, request: Request) -> Json:
    cluster = await _existing(admin, request)
    found = await admin.resources.objects.get(paths.isolation_policies(cluster))
    if found is None:
        raise NotFound(f"NamespaceIsolationPolicies for cluster {cluster} does not exist")
    return found


async def _existing(admin: RecordServices, request: Request) -> str:
    name = cluster_name(request)
    if await admin.resources.cluster(name) is None:
        raise NotFound(f"Cluster {name} does not exist.")
    return name


def _name(request: Request) -> str:
    return arguments.entity(request, "policy", "Isolation policy")


_ALL = "/admin/v2/clusters/{cluster}/namespaceIsolationPolicies"
SERVICES: Final = RecordServices
ROUTES: Final = (
    Route("GET", _ALL, names, Access.SUPERUSER),
    Route("GET", f"{_ALL}/brokers", brokers, Access.SUPERUSER),
    Route("GET", f"{_ALL}/brokers/{{broker}}", broker, Access.SUPERUSER),
    Route("GET", f"{_ALL}/{{policy}}", get, Access.SUPERUSER),
    Route("POST", f"{_ALL}/{{policy}}", change, Access.SUPERUSER, takes=(JSON,)),
    Route("DELETE", f"{_ALL}/{{policy}}", delete, Access.SUPERUSER),
)
