import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from support.tokens import SECRET

from magnetar.auth.identity import Identity
from magnetar.auth.token import (
    TokenRules,
    identity_of,
    public_key,
    secret_key,
)
from magnetar.errors import InvalidValue, NotAuthenticated

RSA = rsa.generate_private_key(65537, 2048)
P256, P384 = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP384R1())
SHORT = rsa.generate_private_key(65537, 1024)
K1 = ec.generate_private_key(ec.SECP256K1())


def public(key, encoding=serialization.Encoding.PEM):
    kind = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(encoding, kind)


def private(key):
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


@pytest.mark.parametrize(
    ("content", "algorithm", "reason"),
    [
        (public(RSA), "HS256", "tokenPublicAlg='HS256': use one of RS256"),
        (public(RSA), "ES256", "no public key of P-256"),
        (public(P256), "RS256", "no public RSA key"),
        (private(RSA), "RS256", "private key"),
        (private(P256), "ES256", "private key"),
        (public(K1), "ES256", "no public key of P-256"),
        (public(SHORT), "RS256", "1024 bits"),
        (b"rubbish", "RS256", "no public RSA key"),
    ],
)
def test_what_is_no_public_key_stops_the_start(content, algorithm, reason):
    with pytest.raises(InvalidValue, match=reason):
        public_key(content, algorithm)


def test_a_secret_that_could_be_guessed_stops_the_start():
    with pytest.raises(InvalidValue, match="31 bytes"):
        secret_key(SECRET[:-1])
    assert secret_key(SECRET).algorithms == ("HS256",)


NOW_MS = 1_000_000


@pytest.mark.parametrize(
    ("claims", "identity"),
    [
        ({"sub": "me"}, Identity("me")),
        ({"sub": ["me", "you"]}, Identity("me")),
        ({"sub": "me", "exp": 1000}, Identity("me", 1_000_000)),
        ({"sub": "me", "exp": 1000.5, "nbf": 1000, "iat": 5000}, Identity("me", 1_000_500)),
        ({"sub": "me", "aud": "others"}, Identity("me")),
    ],
)
def test_claims_that_hold(claims, identity):
    assert identity_of(claims, TokenRules(), NOW_MS) == identity


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"sub": "me", "exp": 999}, "has expired"),
        ({"sub": "me", "nbf": 1001}, "not valid yet"),
        ({"sub": "me", "exp": "soon"}, "exp of the token is no time"),
        ({"sub": "me", "exp": True}, "exp of the token is no time"),
        ({"sub": "me", "exp": float("nan")}, "exp of the token is no time"),
        ({}, "no claim sub"),
        ({"sub": ""}, "no claim sub"),
        ({"sub": []}, "no claim sub"),
        ({"sub": 5}, "no claim sub"),
    ],
)
def test_claims_that_do_not(claims, reason):
    with pytest.raises(NotAuthenticated, match=reason):
        identity_of(claims, TokenRules(), NOW_MS)


def test_clocks_may_be_off_by_so_much():
    rules = TokenRules(clock_skew_s=5)
    assert identity_of({"sub": "me", "exp": 996}, rules, NOW_MS) == Identity("me", 1_001_000)
    assert identity_of({"sub": "me", "nbf": 1004}, rules, NOW_MS) == Identity("me")
    with pytest.raises(NotAuthenticated):
        identity_of({"sub": "me", "exp": 994}, rules, NOW_MS)


@pytest.mark.parametrize("audience", ["here", ["there", "here"]])
def test_a_token_for_this_audience(audience):
    rules = TokenRules(role_claim="name", audience_claim="for", audience="here")
    assert identity_of({"name": "me", "for": audience}, rules, NOW_MS) == Identity("me")
    for other in ("there", ["there"], None, {"here": 1}):
        with pytest.raises(NotAuthenticated, match="another audience"):
            identity_of({"name": "me", "for": other}, rules, NOW_MS)
