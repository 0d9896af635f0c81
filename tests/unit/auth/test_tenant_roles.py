import pytest

from magnetar.auth.access import Access
from magnetar.auth.tenant_roles import (
    TENANT_SUBJECT_LENGTH_MAX,
    TenantRoles,
    role_of,
    why_no_subject,
)

OPEN = {Access.PUBLIC, Access.AUTHENTICATED}
NEVER = {Access.SUPERUSER, Access.FUNCTIONS, Access.SOURCES, Access.SINKS, Access.PACKAGES}


@pytest.mark.parametrize(
    "subject", ["me", "me@shop", "@", "me@acme@shop", "persistent://shop/n/t", "acme", "*", "a b"]
)
def test_no_subject_leads_out_of_its_tenant(subject):
    roles = TenantRoles(["acme", "shop"])
    assert roles.tenant_of(role_of(subject, "acme")) == "acme"
    assert why_no_subject(subject) == ""


@pytest.mark.parametrize("role", ["acme", "me@acme ", "me@Acme", "me@acme/", "@", "", "me@other"])
def test_what_is_no_role_of_an_issuer_is_confined_nowhere(role):
    assert TenantRoles(["acme"]).tenant_of(role) == ""


@pytest.mark.parametrize("access", Access)
def test_such_a_role_has_what_is_of_its_tenant_but_functions(access):
    roles = TenantRoles(["acme"])
    assert roles.bar(["me@acme"], access, "acme") is (access in NEVER)
    for tenant in ("shop", ""):
        assert roles.bar(["me@acme"], access, tenant) is (access not in OPEN)
        assert roles.bar(["proxy", "me@acme"], access, tenant) is (access not in OPEN)
        assert not roles.bar(["me", "me@shop"], access, tenant)


def test_a_role_stays_confined_and_has_nothing_when_its_issuer_goes():
    roles = TenantRoles(["acme"])
    roles.replace(["shop"])
    assert roles.tenant_of("me@acme") == "acme"
    assert roles.bar(["me@acme"], Access.PRODUCE, "acme")
    roles.replace(["acme"])
    assert not roles.bar(["me@acme"], Access.PRODUCE, "acme")


@pytest.mark.parametrize(
    "subject", ["a\nb", "a\0", " a", "a\u2028b", "a\u202eb", "a\u200bb", "\ud800"]
)
def test_a_subject_can_be_seen(subject):
    assert why_no_subject(subject) == "it has characters that cannot be seen"


def test_a_subject_is_so_long():
    assert why_no_subject("x" * TENANT_SUBJECT_LENGTH_MAX) == ""
    assert "more than 255" in why_no_subject("x" * (TENANT_SUBJECT_LENGTH_MAX + 1))
