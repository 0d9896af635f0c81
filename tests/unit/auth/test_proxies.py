import pytest

from magnetar.auth.proxies import Principal, ProxyRules
from magnetar.errors import NotAuthorized

RULES = ProxyRules(frozenset({"proxy", "other"}), strict=True)


def test_a_proxy_asks_for_its_client():
    assert RULES.principal("proxy", "me") == Principal("me", "proxy")
    assert RULES.principal("me", "") == Principal("me")
    assert RULES.principal("me", "me", may_repeat=True) == Principal("me")


@pytest.mark.parametrize(
    ("role", "original"), [("proxy", ""), ("proxy", "other"), ("me", "you"), ("me", "me")]
)
def test_nobody_else_may_and_a_proxy_must(role, original):
    with pytest.raises(NotAuthorized, match=r"^Invalid roles\.$"):
        RULES.principal(role, original)
    assert RULES._replace(strict=False).principal(role, original) == Principal(role)
