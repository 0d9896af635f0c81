import pytest

from magnetar.auth.authentication import SharedSecretProvider
from magnetar.auth.identity import Credentials, Identity
from magnetar.errors import NotAuthenticated


async def test_who_knows_the_secret_is_taken():
    provider = SharedSecretProvider("secret", "broker")
    assert await provider.authenticate(Credentials("token", b"secret")) == Identity("broker")
    for wrong in (b"", b"Secret", b"secret ", "gehe\u00efm".encode()):
        with pytest.raises(NotAuthenticated):
            await provider.authenticate(Credentials("token", wrong))
