import pytest

from magnetar.auth.authentication import TlsProvider
from magnetar.auth.identity import Credentials, Identity
from magnetar.errors import NotAuthenticated


async def test_the_name_in_the_certificate_is_the_role():
    shown = Credentials("tls", certificate="me")
    assert await TlsProvider().authenticate(shown) == Identity("me")
    with pytest.raises(NotAuthenticated, match="tlsTrustCertsFilePath"):
        await TlsProvider().authenticate(Credentials("tls", b"me"))
