"""Shows, sets and removes the policies of namespaces that are in force, by one table."""

from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Final

from magnetar.broker.admin import arguments
from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import JSON, Reply, Request, done, shown
from magnetar.broker.admin.router import Route
from magnetar.broker.admin.routes.namespaces import existing
from magnetar.broker.admin.services import AdminServices
from magnetar.errors import InvalidValue
from magnetar.model import policy_values as values
from magnetar.model.policy_values import (
    AutoSubscriptionCreationOverride,
    AutoTopicCreationOverride,
    RetentionPolicies,
)
from magnetar.model.schemas import SchemaAutoUpdate, SchemaCompatibilityStrategy


@dataclass(frozen=True, slots=True)
class PolicyRoute:
    """A policy as administrators know it, at ``path`` below its namespace."""

    path: str
    name: str  # In ``Policies``.
    kind: Any  # Its type: int, a list of words, or a value of ``policy_values.py``.
    unset: Any = None  # What is shown where it is not set; None: nothing.
    unset_status: int = 200  # With which nothing is shown.
    refusal: int = 412  # The status of a value that cannot be.
    verb: str = "POST"  # It sets the policy.
    removable: bool = True


POLICY_ROUTES: Final = (
    PolicyRoute("retention", "retention", RetentionPolicies, refusal=400),
    PolicyRoute("autoTopicCreation", "auto_topic_creation", AutoTopicCreationOverride),
    PolicyRoute(
        "autoSubscriptionCreation", "auto_subscription_creation", AutoSubscriptionCreationOverride
    ),
    PolicyRoute("maxTopicsPerNamespace", "topics_per_namespace_max", int, unset=0),
    PolicyRoute("encryptionRequired", "encryption_required", bool, unset=False, refusal=400),
    PolicyRoute("maxProducersPerTopic", "producers_per_topic_max", int),
    PolicyRoute("maxConsumersPerTopic", "consumers_per_topic_max", int),
    PolicyRoute("maxConsumersPerSubscription", "consumers_per_subscription_max", int),
    PolicyRoute("maxSubscriptionsPerTopic", "subscriptions_per_topic_max", int),
    PolicyRoute("maxUnackedMessagesPerConsumer", "unacked_per_consumer_max", int),
    PolicyRoute("maxUnackedMessagesPerSubscription", "unacked_per_subscription_max", int),
    PolicyRoute(
        "subscriptionTypesEnabled", "subscription_types", tuple[str, ...], unset=[], refusal=400
    ),
    PolicyRoute(
        "schemaCompatibilityStrategy",
        "schema_compatibility",
        SchemaCompatibilityStrategy,
        unset="UNDEFINED",
        verb="PUT",
        removable=False,
    ),
    PolicyRoute(
        "schemaAutoUpdateCompatibilityStrategy",
        "schema_auto_update",
        SchemaAutoUpdate,
        unset_status=204,
        verb="PUT",
        removable=False,
    ),
    PolicyRoute(
        "isAllowAutoUpdateSchema",
        "schema_auto_update_allowed",
        bool,
        unset=True,
        removable=False,
    ),
    PolicyRoute(
        "schemaValidationEnforced",
        "schema_validation_enforced",
        bool,
        unset=False,
        removable=False,
    ),
)


async def get(policy: PolicyRoute, admin: AdminServices, request: Request) -> Reply:
    found = getattr((await existing(admin, request)).policies, policy.name)
    if found is not None:
        return shown(values.to_json(found))
    return Reply(policy.unset_status) if policy.unset is None else shown(policy.unset)


async def change(policy: PolicyRoute, admin: AdminServices, request: Request) -> Reply:
    value = _value(policy, request)
    await existing(admin, request)
    try:
        await admin.policies.change(arguments.namespace(request), **{policy.name: value})
    except InvalidValue as error:
        raise Rejection(policy.refusal, str(error)) from None
    return done()


async def remove(policy: PolicyRoute, admin: AdminServices, request: Request) -> Reply:
    await existing(admin, request)
    await admin.policies.change(arguments.namespace(request), **{policy.name: None})
    return done()


def _value(policy: PolicyRoute, request: Request) -> Any:
    """The value that is asked for; None removes the policy, where Pulsar takes that."""
    sent = arguments.number(request) if policy.kind is int else arguments.body(request)
    if policy.kind is int and sent < 0:
        raise Rejection(policy.refusal, f"{policy.path} must be 0 or more")
    try:
        found = values.from_json(policy.kind | None, sent, policy.path)
    except InvalidValue as error:
        raise Rejection(400, str(error)) from None
    by_default = policy.kind is bool and found is policy.unset
    return None if found == () or by_default else found


def _routes(policy: PolicyRoute) -> tuple[Route, ...]:
    path = f"/admin/v2/namespaces/{{tenant}}/{{namespace}}/{policy.path}"
    routes = (
        Route("GET", path, partial(get, policy)),
        Route(policy.verb, path, partial(change, policy), takes=(JSON,)),
    )
    return (*routes, Route("DELETE", path, partial(remove, policy))) if policy.removable else routes


ROUTES: Final = tuple(chain.from_iterable(map(_routes, POLICY_ROUTES)))
