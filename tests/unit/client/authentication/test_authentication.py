from magnetar.client.authentication.authentication import Authentication
from magnetar.client.authentication.basic import AuthenticationBasic
from magnetar.client.authentication.tls import AuthenticationTls
from magnetar.client.authentication.token import AuthenticationToken


class Own:
    method = "mine"

    async def data(self):
        return b""


def test_what_has_a_method_and_data_is_an_authentication():
    for each in (
        Own(),
        AuthenticationToken("t"),
        AuthenticationBasic("u", "p"),
        AuthenticationTls("c", "k"),
    ):
        assert isinstance(each, Authentication)
    assert not isinstance("token", Authentication)
