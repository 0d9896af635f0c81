"""The words are those of our refusals, which are Pulsar's (tests/unit/broker/auth)."""

import pytest

from magnetar.auth.access import Access
from magnetar.auth.authorization import Principal
from magnetar.auth.refusals import refusal
from magnetar.client.admin_refusals import Allowed, allowed, of_role

V2 = "/admin/v2"
NAMESPACE = f"{V2}/namespaces/{{tenant}}/{{namespace}}"
TOPIC = f"{V2}/{{domain}}/{{tenant}}/{{namespace}}/{{topic}}"


@pytest.mark.parametrize(
    ("access", "method", "path", "who"),
    [
        (Access.SUPERUSER, "GET", f"{V2}/tenants", Allowed.SUPERUSER),
        (Access.SUPERUSER, "PUT", f"{V2}/tenants/{{tenant}}", Allowed.SUPERUSER),
        (Access.SUPERUSER, "GET", f"{V2}/brokers/configuration/runtime", Allowed.SUPERUSER),
        (Access.TENANT_ADMIN, "PUT", NAMESPACE, Allowed.ADMIN),
        (Access.TENANT_ADMIN, "POST", f"{NAMESPACE}/retention", Allowed.ADMIN),
        (Access.TENANT_ADMIN, "POST", f"{NAMESPACE}/permissions/{{role}}", Allowed.ADMIN),
        (Access.TENANT_ADMIN, "PUT", TOPIC, Allowed.ADMIN),
        (Access.TENANT_ADMIN, "PUT", f"{TOPIC}/unload", Allowed.ADMIN),
        (Access.TENANT_ADMIN, "POST", f"{TOPIC}/permissions/{{role}}", Allowed.ADMIN),
        (Access.NAMESPACE_TOPICS, "GET", f"{NAMESPACE}/topics", Allowed.GRANTED),
        (Access.LOOKUP, "GET", f"{TOPIC}/stats", Allowed.GRANTED),
        (Access.CONSUME, "PUT", f"{TOPIC}/subscription/{{subscription}}", Allowed.GRANTED),
        (Access.CONSUME, "POST", f"{TOPIC}/subscription/{{subscription}}/skip", Allowed.GRANTED),
        (Access.FUNCTIONS, "PUT", "/admin/v3/functions/{tenant}", Allowed.GRANTED),
    ],
)
def test_who_may_do_what_was_refused(access, method, path, who):
    reason = refusal(Principal("clerk"), access, method, path, "persistent://a/b/c").reason
    assert of_role(reason)
    assert allowed(reason) is who


def test_who_is_not_known_is_no_role():
    assert not of_role("Authentication required")
    assert allowed("whatever") is Allowed.GRANTED
