import asyncio
import json

import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from support.clock import ManualClock
from support.loop import GIVE_UP_S
from support.tokens import token
from support.web import serving

from magnetar.auth.identity import Credentials, Identity
from magnetar.auth.key_set import AGE_S, KEYS_MAX, UNKNOWN_KEY_S, KeySet, read_key_set
from magnetar.auth.token import TokenRules
from magnetar.auth.token_provider import TokenProvider
from magnetar.errors import InvalidValue, NotAuthenticated

FIRST = rsa.generate_private_key(65537, 2048)
SECOND = ec.generate_private_key(ec.SECP256R1())


def jwk(key, kid, **more):
    kind = RSAAlgorithm if key is FIRST else ECAlgorithm
    return kind.to_jwk(key.public_key(), as_dict=True) | {"kid": kid} | more


def document(*keys):
    return json.dumps({"keys": list(keys)})


def signed(key, kid=None):
    algorithm = "RS256" if key is FIRST else "ES256"
    return jwt.encode({"sub": "me"}, key, algorithm, headers={"kid": kid} if kid else None)


async def who(keys, shown):
    provider = TokenProvider([keys], TokenRules(), ManualClock())
    return await provider.authenticate(Credentials("token", shown.encode()))


async def test_keys_of_a_file_are_found_by_their_name_and_read_again(tmp_path):
    file = tmp_path / "keys.json"
    file.write_text(document(jwk(FIRST, "first")))
    keys = KeySet(str(file), ManualClock())
    for shown in (signed(FIRST, "first"), signed(FIRST)):
        assert await who(keys, shown) == Identity("me")
    for shown in (signed(SECOND, "second"), signed(FIRST, "other"), token()):
        with pytest.raises(NotAuthenticated):
            await who(keys, shown)
    file.write_text(document(jwk(SECOND, "second")))
    assert await who(keys, signed(SECOND, "second")) == Identity("me")
    with pytest.raises(NotAuthenticated):
        await who(keys, signed(FIRST, "first"))
    await keys.close()


async def test_a_key_alone_is_for_any_token_of_its_algorithm(tmp_path):
    kind = serialization.PublicFormat.SubjectPublicKeyInfo
    for key in (FIRST, SECOND):
        for encoding in (serialization.Encoding.PEM, serialization.Encoding.DER):
            file = tmp_path / "key"
            file.write_bytes(key.public_key().public_bytes(encoding, kind))
            keys = KeySet(str(file), ManualClock())
            for shown in (signed(key), signed(key, "any")):
                assert await who(keys, shown) == Identity("me")
            with pytest.raises(NotAuthenticated):
                await who(keys, signed(SECOND if key is FIRST else FIRST))
            await keys.close()


async def test_keys_of_a_server_are_fetched_when_they_are_missed_and_now_and_then():
    served, asked, clock = [jwk(FIRST, "first")], [], ManualClock()

    async def answer(request):
        asked.append(request.path)
        return web.Response(text=document(*served) if served else "broken")

    async with serving(answer) as address:
        keys = KeySet(f"http://{address}/keys", clock)
        for _ in range(2):
            assert await who(keys, signed(FIRST, "first")) == Identity("me")
        served[:] = [jwk(SECOND, "second")]
        with pytest.raises(NotAuthenticated):
            await who(keys, signed(SECOND, "second"))
        assert len(asked) == 1  # Who shows tokens of keys that never were must not have us ask.
        await clock.advance(UNKNOWN_KEY_S)
        assert await who(keys, signed(SECOND, "second")) == Identity("me")
        served.clear()
        await clock.advance(AGE_S)
        assert await who(keys, signed(SECOND, "second")) == Identity("me")
        assert len(asked) == 3
        await keys.close()


async def test_who_shows_an_unknown_key_has_nobody_else_wait():
    asked, clock = [], ManualClock()
    hangs, goes_on = asyncio.Event(), asyncio.Event()

    async def answer(request):
        asked.append(request.path)
        if len(asked) > 1:
            hangs.set()
            await goes_on.wait()
        return web.Response(text=document(jwk(FIRST, "first")))

    async with serving(answer) as address:
        keys = KeySet(f"http://{address}/keys", clock)
        await who(keys, signed(FIRST, "first"))
        await clock.advance(UNKNOWN_KEY_S)
        stranger = asyncio.create_task(who(keys, signed(SECOND, "made up")))
        await hangs.wait()
        async with asyncio.timeout(GIVE_UP_S):
            assert await who(keys, signed(FIRST, "first")) == Identity("me")
        goes_on.set()
        with pytest.raises(NotAuthenticated):
            await stranger
        await keys.close()


async def test_without_any_keys_nobody_is_let_in(caplog):
    keys = KeySet("http://127.0.0.1:1/keys", ManualClock())
    with pytest.raises(NotAuthenticated, match="cannot be fetched now"):
        await who(keys, signed(FIRST, "first"))
    assert "authentication.keys_not_fetched url=http://127.0.0.1:1/keys" in caplog.text
    await keys.close()


async def test_a_set_beyond_reason_is_not_read():
    async def answer(_):
        return web.Response(text="x" * 2_000_000)

    async with serving(answer) as address:
        keys = KeySet(f"http://{address}/", ManualClock())
        with pytest.raises(NotAuthenticated, match="cannot be fetched now"):
            await who(keys, signed(FIRST, "first"))
        await keys.close()


def test_a_set_has_so_many_keys():
    keys = [jwk(SECOND, str(number)) for number in range(KEYS_MAX + 1)]
    assert len(read_key_set(document(*keys[1:]).encode())) == KEYS_MAX
    with pytest.raises(InvalidValue, match="tokenJwks has 101 keys, and may have 100"):
        read_key_set(document(*keys).encode())


PRIVATE = RSAAlgorithm.to_jwk(FIRST, as_dict=True)
SECRET = {"kty": "oct", "k": "c2VjcmV0", "kid": "first", "alg": "HS256"}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"keys": 1}',
        '{"keys": ["x"]}',
        '{"keys": []}',
        document(SECRET),
        document(PRIVATE),
        document(jwk(FIRST, "first", use="enc")),
        document(jwk(FIRST, "first", alg="HS256")),
        document({"kty": "RSA", "kid": "first"}),
    ],
)
def test_what_has_no_public_key_of_a_signature_is_no_set(content):
    with pytest.raises(InvalidValue, match="tokenJwks"):
        read_key_set(content.encode())


def test_what_a_key_says_of_itself_holds():
    [(kid, key)] = read_key_set(document(SECRET, jwk(FIRST, "first", alg="PS256")).encode())
    assert (kid, key.algorithms) == ("first", ("PS256",))
    odd = [jwk(FIRST, "odd", alg=alg) for alg in (["RS256"], {"is": "RS256"}, 1)]
    [(_, key)] = read_key_set(document(*odd, jwk(SECOND, "second")).encode())
    assert key.algorithms == ("ES256",)


def test_a_url_with_a_password_is_refused_and_not_repeated():
    with pytest.raises(InvalidValue, match="a password in its URL") as refused:
        KeySet("https://me:word@keys.example/jwks", ManualClock())
    assert "me:word" not in str(refused.value)


def test_keys_that_anybody_in_between_could_change_are_warned_of(caplog):
    KeySet("http://keys.example/jwks", ManualClock())
    assert "authentication.keys_over_http http://keys.example/jwks" in caplog.text
    caplog.clear()
    KeySet("https://keys.example/jwks", ManualClock())
    KeySet("http://localhost/jwks", ManualClock())
    assert not caplog.text
