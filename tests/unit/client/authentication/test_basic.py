import pytest

from magnetar.client.authentication.basic import AuthenticationBasic
from magnetar.errors import InvalidValue


async def test_user_and_password_are_shown():
    authentication = AuthenticationBasic("me", "pass:word")
    assert (authentication.method, await authentication.data()) == ("basic", b"me:pass:word")
    assert AuthenticationBasic("me", "p", method="oms3.0").method == "oms3.0"
    assert repr(authentication) == "AuthenticationBasic('me', '...')"


@pytest.mark.parametrize("given", [("", "p"), ("a:b", "p"), ("me", None), (5, "p")])
def test_what_cannot_be_shown_is_refused(given):
    with pytest.raises(InvalidValue):
        AuthenticationBasic(*given)
