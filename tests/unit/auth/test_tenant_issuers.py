import base64
import hashlib
import hmac
import json
import time

import jwt
import pytest
from jwt.algorithms import ECAlgorithm
from support.clock import ManualClock
from support.issuers import Issuers, public_pem
from support.tokens import SECRET, token

from magnetar.auth.authentication import Authentication
from magnetar.auth.identity import Credentials, Identity
from magnetar.auth.tenant_issuers import TenantIssuers, read_issuers
from magnetar.auth.token import FixedKeys, TokenRules, secret_key
from magnetar.auth.token_provider import TokenProvider
from magnetar.errors import InvalidValue, NotAuthenticated

END = 4_000_000_000
ONE = {"issuer": "https://a", "keys": "/k"}


@pytest.fixture
def issuers(tmp_path):
    return Issuers(tmp_path, "acme", "shop")


def checks(issuers, own=(), rules=None):
    """A broker's own secret, and the issuers of tenants."""
    found = TenantIssuers(str(issuers.file), ManualClock(), own=own)
    fixed = [FixedKeys(secret_key(SECRET))]
    provider = TokenProvider(fixed, rules or TokenRules(), ManualClock(), found)
    return Authentication([provider], anonymous_role="x@acme", issuers=found)


async def who(authentication, shown):
    return await authentication.authenticate(Credentials("token", shown.encode()))


async def test_the_role_of_a_token_is_of_the_tenant_whose_issuer_signed_it(issuers):
    authentication = checks(issuers)
    for tenant in ("acme", "shop"):
        shown = issuers.token(tenant, "me", life_s=None, exp=END)
        assert await who(authentication, shown) == Identity(f"me@{tenant}", END * 1000, tenant)
    assert await who(authentication, token("me")) == Identity("me")
    await authentication.close()


async def test_nobody_signs_for_another(issuers):
    """Nor does a kid, an algorithm, a key in the header or the name of a role help."""
    authentication = checks(issuers)
    acme, shop = issuers.keys["acme"], issuers.keys["shop"]
    pem = public_pem(shop)
    forged = [
        issuers.token("shop", "root", key=acme),
        issuers.token("shop", "root", key=SECRET, algorithm="HS256"),
        issuers.token("acme", "root", iss="https://nobody.example"),
        jwt.encode({"sub": "root", "iss": "https://shop.example", "exp": END}, None, "none"),
        jwt.encode(
            {"sub": "root", "iss": "https://shop.example", "exp": END},
            acme,
            "ES256",
            headers={"jwk": ECAlgorithm.to_jwk(acme.public_key(), as_dict=True), "kid": "shop"},
        ),
        _hs256({"sub": "root", "iss": "https://shop.example", "exp": END}, pem),
        token("me@acme"),
        token("root@shop", iss="https://elsewhere.example"),
    ]
    for shown in forged:
        with pytest.raises(NotAuthenticated):
            await who(authentication, shown)
    with pytest.raises(NotAuthenticated, match="roles that end with @acme are given by that"):
        await authentication.authenticate(Credentials("none"))  # The anonymous role.
    await authentication.close()


def _hs256(claims, secret):
    """A token of a secret, also of a public key, and of claims that the library refuses."""
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")
        for part in ({"alg": "HS256", "typ": "JWT"}, claims)
    ]
    signature = hmac.digest(secret, b".".join(parts), hashlib.sha256)
    return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


@pytest.mark.parametrize("issuer", [None, 1, ["https://acme.example"], {}, "https://ACME.example"])
async def test_whoever_names_no_issuer_of_a_tenant_needs_the_brokers_own_key(issuers, issuer):
    authentication = checks(issuers)
    claims = {"sub": "me", "iss": issuer}
    assert await who(authentication, _hs256(claims, SECRET)) == Identity("me")
    with pytest.raises(NotAuthenticated):
        await who(authentication, _hs256(claims, public_pem(issuers.keys["acme"])))
    await authentication.close()


@pytest.mark.parametrize(
    ("subject", "more", "why"),
    [
        ("", {}, "no claim sub with a role"),
        (" ", {}, "no claim sub with a role"),
        ("a\nb", {}, "characters that cannot be seen"),
        ("a" * 256, {}, "more than 255"),
        ("me", {"exp": 1}, "expired"),
        ("me", {"life_s": None}, "must end: have it made with the claim exp"),
        ("me", {"nbf": END}, "not valid yet"),
    ],
)
async def test_a_token_says_who_and_until_when(issuers, subject, more, why):
    authentication = checks(issuers)
    with pytest.raises(NotAuthenticated, match=why) as refused:
        await who(authentication, issuers.token("acme", subject, **more))
    assert "\n" not in str(refused.value)
    await authentication.close()


async def test_an_issuer_has_its_own_audience_and_claim(issuers):
    issuers.described["acme"] |= {"audience": "events", "roleClaim": "azp"}
    issuers.write()
    rules = TokenRules(audience_claim="for", audience="broker")
    authentication = checks(issuers, rules=rules)
    taken = issuers.token("acme", "x", life_s=None, exp=END, azp="app", aud=["events"])
    assert (await who(authentication, taken)).role == "app@acme"
    taken = issuers.token("shop", "me", life_s=None, exp=END, **{"for": "broker"})
    assert (await who(authentication, taken)).role == "me@shop"
    for refused in (
        issuers.token("acme", "x", exp=END, azp="app"),
        issuers.token("acme", "x", exp=END, azp="app", aud="other"),
        issuers.token("shop", "me", exp=END),
    ):
        with pytest.raises(NotAuthenticated, match="another audience"):
            await who(authentication, refused)
    await authentication.close()


async def test_the_file_is_read_again_and_what_is_broken_changes_nothing(issuers, caplog):
    authentication = checks(issuers, own=["root@other"])
    shown = issuers.token("acme", "me", life_s=None, exp=END)
    for broken in ("{", '{"other": {"issuer": "https://o", "keys": "/none"}}'):
        issuers.file.write_text(broken)
        assert (await who(authentication, shown)).role == "me@acme"
    keys = issuers.described["acme"]["keys"]
    issuers.file.write_text(json.dumps({"other": {"issuer": "https://o", "keys": keys}}))
    assert (await who(authentication, shown)).role == "me@acme"
    assert "the role root@other of the broker's settings is one" in caplog.text
    del issuers.described["acme"]
    issuers.write()
    authentication.renew()
    with pytest.raises(NotAuthenticated):
        await who(authentication, shown)
    assert authentication.tenant_roles.tenant_of("me@acme") == "acme"
    assert (await who(authentication, issuers.token("shop", "me", exp=END))).tenant == "shop"
    await authentication.close()


async def test_keys_that_are_not_there_yet_hold_up_no_other_tenant(issuers, tmp_path, caplog):
    authentication = checks(issuers)
    gone, late = (issuers.token(tenant, "me", exp=END) for tenant in ("acme", "shop"))
    keys = tmp_path / "late.pem"
    issuers.described["shop"]["keys"] = str(keys)
    del issuers.described["acme"]
    issuers.write()
    for shown in (gone, late):
        with pytest.raises(NotAuthenticated):
            await who(authentication, shown)
    assert "tenantTokenIssuers, keys of shop" in caplog.text
    keys.write_bytes(public_pem(issuers.keys["shop"]))
    assert (await who(authentication, late)).role == "me@shop"
    await authentication.close()


def test_a_role_that_is_trusted_with_more_is_none_of_an_issuer(issuers):
    with pytest.raises(InvalidValue, match="the role root@acme of the broker's settings"):
        checks(issuers, own={"admin", "root@acme", ""})


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("x", "is no JSON"),
        ("[]", "is an object"),
        ('{"a": {}, "a": {}}', "stands there twice"),
        ({"a": "https://a"}, "tenantTokenIssuers, a has the texts issuer and keys"),
        ({"a": {"issuer": "https://a"}}, "has the texts issuer and keys"),
        ({"a": {**ONE, "issuer": ""}}, "has the texts issuer and keys"),
        ({"a": {**ONE, "superuser": "me"}}, "and nothing else"),
        ({"a": {**ONE, "audience": ["x"]}}, "and nothing else"),
        ({"a@b": ONE}, "Invalid named entity: a@b"),
        ({"a/b": ONE}, "Invalid named entity: a/b"),
        ({"": ONE}, "tenantTokenIssuers: "),
        ({"a": ONE, "b": ONE}, "https://a is the issuer of two tenants"),
    ],
)
def test_what_the_file_cannot_mean_is_refused(content, why):
    text = content if isinstance(content, str) else json.dumps(content)
    with pytest.raises(InvalidValue, match=why):
        read_issuers(text.encode())


def test_thousands_of_tenants_take_no_time_from_clients():
    many = {f"t{n}": {"issuer": f"https://{n}", "keys": "/k"} for n in range(8000)}
    content = json.dumps(many).encode()
    began = time.process_time()
    assert len(read_issuers(content)) == 8000
    assert time.process_time() - began < 0.5  # Each compared with each takes some times that.


def test_keys_that_cannot_be_read_are_named_with_their_tenant(issuers, tmp_path):
    (tmp_path / "acme.pem").write_text("-----BEGIN PUBLIC KEY-----\nx\n")
    with pytest.raises(InvalidValue, match="keys of acme is neither a JSON Web Key Set nor a pub"):
        checks(issuers)
