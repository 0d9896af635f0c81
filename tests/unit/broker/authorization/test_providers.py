import pytest
from support.clock import ManualClock
from support.security import HTPASSWD
from support.tokens import TAKES_TOKENS, token

from magnetar.auth.identity import Credentials, Identity
from magnetar.broker.authorization.providers import authentication_of
from magnetar.broker.settings.auth import AuthSettings
from magnetar.errors import InvalidValue

TAKES = AuthSettings(
    enabled=True,
    providers=("AuthenticationProviderToken",),
    token_secret_key=TAKES_TOKENS["tokenSecretKey"],
)


def test_nobody_is_asked_where_it_is_off():
    assert authentication_of(AuthSettings(), ManualClock()) is None


async def test_providers_are_made_by_the_names_of_their_classes():
    authentication = authentication_of(TAKES, ManualClock())
    assert authentication.methods == ("token",)
    shown = Credentials("token", token().encode())
    assert await authentication.authenticate(shown) == Identity("me")


def test_a_key_that_cannot_be_read_stops_the_start():
    settings = AuthSettings(
        enabled=True, providers=TAKES.providers, token_public_key="file:///no/such"
    )
    with pytest.raises(InvalidValue, match="tokenPublicKey: cannot read /no/such"):
        authentication_of(settings, ManualClock())


def test_each_method_has_its_provider():
    settings = AuthSettings(
        enabled=True,
        providers=("a.b.AuthenticationProviderTls", "AuthenticationProviderBasic"),
        basic_file=f"data:,{HTPASSWD}",
    )
    assert authentication_of(settings, ManualClock()).methods == ("tls", "basic")
