"""Functions' input and output become bytes as in the official client."""

import pulsar
import pytest

from magnetar import compat

BOTH = pytest.mark.parametrize("client", [pulsar, compat], ids=["official", "ours"])


@BOTH
@pytest.mark.parametrize("value", [1, 1.5, "text", b"bytes", 2j])
def test_identity_keeps_what_it_can(client, value):
    data = client.IdentitySerDe().serialize(value)
    assert isinstance(data, bytes)
    back = client.IdentitySerDe().deserialize(data)
    assert back == ("bytes" if value == b"bytes" else value)


@BOTH
def test_identity_refuses_the_rest(client):
    with pytest.raises(TypeError, match="cannot serialize"):
        client.IdentitySerDe().serialize([])
    assert client.IdentitySerDe().deserialize(b"\xff") == b"\xff"


@BOTH
def test_pickles_come_back(client):
    serde = client.PickleSerDe()
    assert serde.deserialize(serde.serialize({"a": [1]})) == {"a": [1]}
