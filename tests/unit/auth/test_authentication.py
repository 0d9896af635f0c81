import pytest

from magnetar.auth.authentication import Authentication
from magnetar.auth.identity import Credentials, Identity
from magnetar.errors import NotAuthenticated


class Provider:
    """It takes what is the name of a role."""

    method = "token"

    def __init__(self):
        self.closed = False

    async def authenticate(self, credentials):
        if not credentials.data:
            raise NotAuthenticated("nothing")
        return Identity(credentials.data.decode())

    async def close(self):
        self.closed = True


async def test_the_method_chooses_the_provider():
    provider = Provider()
    authentication = Authentication([provider])
    assert await authentication.authenticate(Credentials("token", b"me")) == Identity("me")
    with pytest.raises(NotAuthenticated):
        await authentication.authenticate(Credentials("token"))
    assert authentication.succeeded == authentication.failed == {"token": 1}
    await authentication.close()
    assert provider.closed


@pytest.mark.parametrize(("method", "reason"), [("none", "no credentials"), ("sasl", "'sasl'")])
async def test_what_no_provider_is_for_is_refused_with_the_methods_that_are(method, reason):
    with pytest.raises(NotAuthenticated, match=f"{reason}.*use one of the methods token"):
        await Authentication([Provider()]).authenticate(Credentials(method, b"me"))


@pytest.mark.parametrize("method", ["none", "", "sasl"])
async def test_it_is_the_anonymous_role_where_there_is_one(method):
    authentication = Authentication([Provider()], anonymous_role="nobody")
    assert await authentication.authenticate(Credentials(method)) == Identity("nobody")
    with pytest.raises(NotAuthenticated):
        await authentication.authenticate(Credentials("token"))
