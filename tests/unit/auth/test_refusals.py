"""The words are those that Pulsar 4.0.7 answered, or that its code has."""

import pytest

from magnetar.auth.access import Access
from magnetar.auth.authorization import Principal
from magnetar.auth.refusals import ADMIN, FUNCTIONS, SUPERUSER, refusal

SCHEMA = "/admin/v2/schemas/{tenant}/{namespace}/{topic}/schema"
NAMESPACES = "/admin/v2/namespaces/{tenant}/{namespace}"
TOPIC = "/admin/v2/persistent/{tenant}/{namespace}/{topic}"
T = "persistent://t/n/x"
BOB = Principal("bob")
ADMINS = Access.TENANT_ADMIN


def on_namespace(operation):
    text = f"validateNamespaceOperation for operation [{operation}] on namespace [t/n]"
    return (403, f"Unauthorized to {text}")


def on_topic(operation):
    text = f"validateTopicOperation for operation [{operation}] on topic [{T}]"
    return (401, f"Unauthorized to {text}")


def policy(level, operation, place, name):
    text = f"for operation [{operation}] on {level.lower()} [{place}] on policy [{name}]"
    return (403, f"Unauthorized to validate{level}PolicyOperation {text}")


@pytest.mark.parametrize(
    ("access", "method", "path", "place", "expected"),
    [
        (Access.SUPERUSER, "GET", "/admin/v2/brokers/health", "", (401, SUPERUSER)),
        (Access.FUNCTIONS, "POST", "/admin/v3/functions", "t/n", (401, FUNCTIONS)),
        (Access.PACKAGES, "GET", "/admin/v3/packages", "t/n", on_namespace("PACKAGES")),
        (Access.NAMESPACE_TOPICS, "GET", f"{NAMESPACES}/topics", "t/n", on_namespace("GET_TOPICS")),
        (Access.NAMESPACE_TOPICS, "GET", TOPIC[:-8], "t/n", on_namespace("GET_TOPICS")),
        (
            Access.NAMESPACE_CONSUME,
            "POST",
            f"{NAMESPACES}/clearBacklog/{{subscription}}",
            "t/n",
            on_namespace("CLEAR_BACKLOG"),
        ),
        (
            ADMINS,
            "POST",
            f"{NAMESPACES}/permissions/{{role}}",
            "t/n",
            on_namespace("GRANT_PERMISSION"),
        ),
        (ADMINS, "GET", f"{NAMESPACES}/permissions", "t/n", on_namespace("GET_PERMISSION")),
        (
            ADMINS,
            "POST",
            f"{NAMESPACES}/retention",
            "t/n",
            policy("Namespace", "WRITE", "t/n", "RETENTION"),
        ),
        (ADMINS, "GET", NAMESPACES, "t/n", policy("Namespace", "READ", "t/n", "ALL")),
        (ADMINS, "PUT", f"{NAMESPACES}/properties", "t/n", (401, ADMIN)),
        (ADMINS, "POST", f"{TOPIC}/messageTTL", T, policy("Topic", "WRITE", T, "TTL")),
        (
            ADMINS,
            "POST",
            f"{TOPIC}/maxUnackedMessagesOnConsumer",
            T,
            policy("Topic", "WRITE", T, "MAX_UNACKED"),
        ),
        (ADMINS, "PUT", TOPIC, T, on_namespace("CREATE_TOPIC")),
        (ADMINS, "DELETE", f"{TOPIC}/partitions", T, on_namespace("DELETE_TOPIC")),
        (ADMINS, "POST", f"{TOPIC}/permissions/{{role}}", T, (401, ADMIN)),
        (ADMINS, "POST", f"{TOPIC}/terminate", T, on_topic("TERMINATE")),
        (ADMINS, "PUT", f"{TOPIC}/properties", T, on_topic("UPDATE_METADATA")),
        (Access.LOOKUP, "GET", f"{TOPIC}/stats", T, on_topic("GET_STATS")),
        (Access.LOOKUP, "GET", f"{TOPIC}/partitions", T, on_topic("LOOKUP")),
        (
            Access.CONSUME,
            "POST",
            f"{TOPIC}/subscription/{{subscription}}/skip/{{count}}",
            T,
            on_topic("SKIP"),
        ),
        (Access.CONSUME, "PUT", f"{TOPIC}/subscription/{{subscription}}", T, on_topic("SUBSCRIBE")),
        (Access.PRODUCE, "POST", SCHEMA, T, on_topic("PRODUCE")),
    ],
)
def test_a_refusal_names_the_operation(access, method, path, place, expected):
    assert refusal(BOB, access, method, path, place) == expected


def test_a_refusal_about_a_tenant_names_the_role_and_its_proxy():
    assert refusal(BOB, ADMINS, "PUT", NAMESPACES, "t/n").reason == (
        "Unauthorized to validateTenantOperation for originalPrincipal [null] and clientAppId "
        "[bob] about operation [CREATE_NAMESPACE] on tenant [t]"
    )
    through = Principal("bob", "proxy")
    assert refusal(through, ADMINS, "GET", "/admin/v2/tenants/{tenant}", "t").reason == (
        "Unauthorized to validateBothTenantOperationAndSuperUser for originalPrincipal [bob] and "
        "clientAppId [proxy] about operation [GET_TENANT] "
    )
