import pytest

from magnetar.client.authentication.token import AuthenticationToken
from magnetar.client.connections.credentials import Credentials
from magnetar.errors import ConnectionLost, NotAuthenticated, NotReady


async def test_without_authentication_there_is_nothing_to_show():
    nobody = Credentials()
    assert nobody.method == "none"
    assert await nobody.data() is None
    refusal = nobody.refusal("h:1", NotAuthenticated("Failed to authenticate"))
    assert "h:1" in str(refusal)
    assert "authentication=" in str(refusal)


async def test_what_cannot_be_had_is_final_at_first_and_passing_later():
    answers = [OSError("no such file"), "one", KeyError("s3cret"), "two", ConnectionLost("away")]

    def token():
        answer = answers.pop(0)
        if isinstance(answer, str):
            return answer
        raise answer

    credentials = Credentials(AuthenticationToken(token))
    with pytest.raises(NotAuthenticated, match="method 'token': no such file"):
        await credentials.data()
    assert await credentials.data() == b"one"
    with pytest.raises(NotReady, match="KeyError") as raised:
        await credentials.data()
    assert "s3cret" not in str(raised.value)
    assert await credentials.data() == b"two"
    with pytest.raises(ConnectionLost, match="away"):
        await credentials.data()


def test_a_refusal_names_the_method_and_shows_no_secret():
    credentials = Credentials(AuthenticationToken("s3cret"))
    refusal = str(credentials.refusal("h:1", NotAuthenticated("Failed to authenticate")))
    assert "h:1" in refusal
    assert "method 'token': Failed to authenticate" in refusal
    assert "s3cret" not in refusal
