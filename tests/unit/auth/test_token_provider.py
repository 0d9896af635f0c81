import base64
import hashlib
import hmac
import json

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from support.clock import ManualClock
from support.tokens import SECRET, token

from magnetar.auth.identity import Credentials
from magnetar.auth.token import (
    FixedKeys,
    TokenRules,
    public_key,
    secret_key,
)
from magnetar.auth.token_provider import TokenProvider
from magnetar.errors import NotAuthenticated

RSA = rsa.generate_private_key(65537, 2048)
P256, P384 = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP384R1())
SHORT = rsa.generate_private_key(65537, 1024)
K1 = ec.generate_private_key(ec.SECP256K1())


def public(key, encoding=serialization.Encoding.PEM):
    kind = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(encoding, kind)


async def role_of(shown, *keys, rules=None):
    provider = TokenProvider([FixedKeys(*keys)], rules or TokenRules(), ManualClock())
    return (await provider.authenticate(Credentials("token", shown.encode()))).role


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
async def test_tokens_of_a_secret(algorithm):
    long = SECRET + SECRET
    assert await role_of(token(key=long, algorithm=algorithm), secret_key(long)) == "me"


@pytest.mark.parametrize("algorithm", ["RS256", "RS512", "PS256", "PS384"])
@pytest.mark.parametrize("encoding", ["PEM", "DER"])
async def test_tokens_of_an_rsa_key(algorithm, encoding):
    key = public_key(public(RSA, getattr(serialization.Encoding, encoding)), "RS256")
    assert await role_of(token(key=RSA, algorithm=algorithm), key) == "me"


@pytest.mark.parametrize(("key", "algorithm"), [(P256, "ES256"), (P384, "ES384")])
async def test_tokens_of_an_elliptic_key(key, algorithm):
    known = public_key(public(key, serialization.Encoding.DER), "ES256")
    assert await role_of(token(key=key, algorithm=algorithm), known) == "me"


async def test_a_broker_may_know_a_secret_and_a_public_key():
    keys = secret_key(SECRET), public_key(public(RSA), "RS256")
    assert await role_of(token(), *keys) == "me"
    assert await role_of(token(key=RSA, algorithm="RS256"), *keys) == "me"


def forged(header, signature=b""):
    """A token that says of itself what it likes."""
    parts = [json.dumps(header).encode(), b'{"sub": "admin"}', signature]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


@pytest.mark.parametrize(
    "shown",
    [
        token() + "x",
        token(key=b"another secret of 32 bytes or so"),
        forged({"alg": "none"}),
        forged({"alg": "HS256"}),
        forged({"alg": ["HS256"]}),
        forged({"alg": "HS256", "crit": ["x"]}, b"x"),
        forged({"typ": "JWT"}),
        jwt.encode({"sub": "admin"}, base64.b64encode(public(RSA)), "HS256"),
        "",
        "a.b",
        "\u00e4.b.c",
        "." * 1000,
    ],
)
async def test_what_was_not_signed_by_a_key_that_is_known_is_refused(shown):
    keys = secret_key(SECRET), public_key(public(RSA), "RS256")
    with pytest.raises(NotAuthenticated) as refused:
        await role_of(shown, *keys)
    assert not shown.strip(".") or shown not in str(refused.value)


async def test_a_public_key_is_not_taken_for_a_secret():
    """Who knows the public key could sign with it as if it were a secret."""
    der = public(RSA, serialization.Encoding.DER)
    for key in (der, public(RSA)):
        unsigned = forged({"alg": "HS256"}).rstrip(".")
        signature = hmac.digest(key, unsigned.encode(), hashlib.sha256)
        shown = forged({"alg": "HS256"}, signature)
        with pytest.raises(NotAuthenticated):
            await role_of(shown, public_key(key, "RS256"))
