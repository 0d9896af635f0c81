"""JSON web tokens, and the settings of brokers that take them."""

import base64
import time

import jwt

SECRET = b"a secret of thirty-two bytes ..."
PROVIDER = "org.apache.pulsar.broker.authentication.AuthenticationProvider"
TAKES_TOKENS = {
    "authenticationEnabled": "true",
    "authenticationProviders": PROVIDER + "Token",
    "tokenSecretKey": "data:;base64," + base64.b64encode(SECRET).decode(),
}


def token(role="me", *, life_s=None, key=SECRET, algorithm="HS256", **claims):
    """A token of ``role``, with an end where it has a life."""
    ends = {} if life_s is None else {"exp": int(time.time() + life_s)}
    return jwt.encode({"sub": role, **ends, **claims}, key, algorithm)
