import pytest

from magnetar.client.authentication.tls import AuthenticationTls
from magnetar.errors import InvalidValue


async def test_the_certificate_says_it_all():
    authentication = AuthenticationTls("c.pem", "k.pem")
    assert (authentication.method, await authentication.data()) == ("tls", b"")
    assert repr(authentication) == "AuthenticationTls('c.pem', 'k.pem')"
    with pytest.raises(InvalidValue, match="key_file"):
        AuthenticationTls("c.pem", None)
