import pytest
from support.clock import ManualClock

from magnetar.auth.access import Access
from magnetar.auth.authentication import Authentication
from magnetar.auth.authorization import Principal
from magnetar.auth.http import HttpSignIn, Sender, shows_token
from magnetar.auth.identity import Identity
from magnetar.auth.proxies import ProxyRules
from magnetar.errors import NotAuthenticated


class Provider:
    """It takes everything, and tells what that was."""

    def __init__(self, method):
        self.method = method

    async def authenticate(self, credentials):
        return Identity(f"{self.method}:{credentials.data.decode()}:{credentials.certificate}")

    async def close(self): ...


def sign_in(*methods, anonymous=""):
    authentication = Authentication(map(Provider, methods), anonymous_role=anonymous)
    return HttpSignIn(authentication, ManualClock(), ProxyRules(frozenset({"token:p:None"})))


ALL = sign_in("token", "basic", "tls")


@pytest.mark.parametrize(
    ("headers", "certificate", "role"),
    [
        ({"Authorization": "Bearer a.b.c"}, None, "token:a.b.c:None"),
        ({"Authorization": "bearer  a.b.c "}, "cn", "token:a.b.c:cn"),
        ({"Authorization": "Basic bWU6eA=="}, None, "basic:me:x:None"),
        ({}, "cn", "tls::cn"),
        ({"X-Pulsar-Auth-Method-Name": "tls", "Authorization": "Bearer x"}, "cn", "tls::cn"),
        ({"X-Pulsar-Auth-Method-Name": "token", "Authorization": "Bearer x"}, "c", "token:x:c"),
    ],
)
async def test_who_sends_a_request(headers, certificate, role):
    assert await ALL.sender(headers, certificate) == Sender(Principal(role))


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({}, "no credentials"),
        ({"Authorization": "Digest x"}, "neither Bearer"),
        ({"Authorization": "Basic !"}, "no base64"),
        ({"X-Pulsar-Auth-Method-Name": "sasl"}, "'sasl' is not taken"),
        ({"X-Pulsar-Auth-Method-Name": "basic", "Authorization": "Bearer x"}, "is 'basic'"),
    ],
)
async def test_what_is_not_taken(headers, reason):
    with pytest.raises(NotAuthenticated, match=reason):
        await ALL.sender(headers, None)


async def test_a_certificate_alone_says_nothing_where_nobody_checks_it():
    with pytest.raises(NotAuthenticated):
        await sign_in("token").sender({}, "cn")
    assert await sign_in("token", anonymous="a").sender({}, "cn") == Sender(Principal("a"))


async def test_a_proxy_passes_on_for_whom_it_asks():
    headers = {"Authorization": "Bearer p", "X-Original-Principal": "me"}
    assert await ALL.sender(headers, None) == Sender(Principal("me", "token:p:None"))


def test_a_browser_asks_for_a_password_only_where_nothing_else_is_taken():
    assert ALL.challenge == 'Bearer realm="pulsar"'
    assert sign_in("basic").challenge == 'Basic realm="pulsar"'


def test_metrics_are_for_everybody_unless_they_are_not():
    assert not ALL.asks(Access.PUBLIC, "/metrics/")
    assert ALL.asks(Access.AUTHENTICATED, "/admin/v2/brokers/ready")
    strict = HttpSignIn(Authentication([]), ManualClock(), ProxyRules(), metrics=True)
    assert strict.asks(Access.PUBLIC, "/metrics")
    assert strict.asks(Access.PUBLIC, "/metrics/x")
    assert not strict.asks(Access.PUBLIC, "/status.html")


async def test_who_shows_what_ends_is_known_for_so_long():
    class Ends(Provider):
        async def authenticate(self, credentials):
            return Identity("me", 1_005_000)

    ending = HttpSignIn(Authentication([Ends("token")]), ManualClock(1000.0), ProxyRules())
    assert (await ending.sender({"Authorization": "Bearer x"}, None)).life_s == 5


@pytest.mark.parametrize(
    ("headers", "shows"),
    [
        ({"Authorization": "Bearer x"}, True),
        ({"Authorization": "Basic eDp5"}, False),
        ({"Authorization": "Bearer x", "X-Pulsar-Auth-Method-Name": "tls"}, False),
        ({}, False),
    ],
)
def test_browsers_add_passwords_and_certificates_themselves_but_no_tokens(headers, shows):
    assert shows_token(headers) is shows
