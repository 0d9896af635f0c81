import asyncio
import re
import threading

import bcrypt
import pytest
from support.security import HTPASSWD, PASSWORD, USER

from magnetar.auth import basic
from magnetar.auth.basic import BasicProvider, read_users
from magnetar.auth.identity import Credentials, Identity
from magnetar.errors import InvalidValue, NotAuthenticated, NotReady

LONG = "x" * 100
USERS = f"""# of `htpasswd -n`
{HTPASSWD}

b:{bcrypt.hashpw(b"word", bcrypt.gensalt(4)).decode().replace("$2b", "$2y")}
long:{bcrypt.hashpw(LONG[:72].encode(), bcrypt.gensalt(4)).decode()}
sha:{{SHA}}qUqP5cyxm6YcTAhz05Hph5gvu9M=
"""


@pytest.fixture
async def provider(tmp_path):
    (tmp_path / "htpasswd").write_text(USERS)
    provider = BasicProvider(f"file://{tmp_path / 'htpasswd'}")
    yield provider
    await provider.close()


def shown(user, password):
    return Credentials("basic", f"{user}:{password}".encode())


@pytest.mark.parametrize(
    ("user", "password"), [(USER, PASSWORD), ("b", "word"), ("long", LONG), ("sha", "test")]
)
async def test_the_hashes_of_htpasswd(provider, user, password):
    for _ in range(2):
        assert await provider.authenticate(shown(user, password)) == Identity(user)
    for wrong in (password + "x", "", password[:-1] + ":"):
        if wrong[:72] != password[:72]:
            with pytest.raises(NotAuthenticated, match="no such user with this password"):
                await provider.authenticate(shown(user, wrong))


@pytest.mark.parametrize("data", [b"", b"me", b"b:word\0", b"\xff:\xff", b"nobody:word", b":word"])
async def test_anything_else_is_refused_without_saying_who_there_is(provider, data):
    with pytest.raises(NotAuthenticated, match=r"no such user|not of the form") as refused:
        await provider.authenticate(Credentials("basic", data))
    assert "word" not in re.sub("this password|user:password", "", str(refused.value))


async def test_a_password_that_would_take_long_is_not_computed(provider):
    """The library takes seconds for 4 kB, and raises what nobody expects for more."""
    for size in (basic.PASSWORD_BYTES_MAX + 1, 4096, 60_000):
        with pytest.raises(NotAuthenticated, match="at most 255 bytes"):
            await provider.authenticate(shown("sha", "x" * size))
    assert await provider.authenticate(shown("sha", "test")) == Identity("sha")


async def test_users_come_and_go_while_it_runs(provider, tmp_path):
    await provider.authenticate(shown("b", "word"))
    (tmp_path / "htpasswd").write_text("sha:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n")
    with pytest.raises(NotAuthenticated):
        await provider.authenticate(shown("b", "word"))
    (tmp_path / "htpasswd").write_text("rubbish")
    assert await provider.authenticate(shown("sha", "test")) == Identity("sha")


async def test_a_password_that_was_right_is_not_computed_again(provider, monkeypatch):
    await provider.authenticate(shown("b", "word"))
    monkeypatch.setattr(basic, "_matches", None)
    assert await provider.authenticate(shown("b", "word")) == Identity("b")
    monkeypatch.setattr(basic, "KNOWN_MAX", 1)
    monkeypatch.setattr(basic, "_matches", lambda *_: True)
    await provider.authenticate(shown("sha", "test"))
    assert len(provider._known) == 1


async def test_so_many_passwords_wait_to_be_checked(provider, monkeypatch):
    gate = threading.Event()
    monkeypatch.setattr(basic, "CHECKS_PENDING_MAX", 2)
    monkeypatch.setattr(basic, "_matches", lambda *_: gate.wait())
    waiting = [
        asyncio.ensure_future(provider.authenticate(shown("b", str(each)))) for each in range(2)
    ]
    await asyncio.sleep(0)
    with pytest.raises(NotReady, match="2 passwords are being checked"):
        await provider.authenticate(shown("b", "word"))
    gate.set()
    await asyncio.gather(*waiting)


@pytest.mark.parametrize("content", [b"", b"# none\n", b"me", b"me:plain", b":{SHA}x", b"\xff\n"])
def test_what_htpasswd_does_not_write_stops_the_start(content):
    with pytest.raises(InvalidValue, match="basicAuthConf") as refused:
        read_users(content)
    assert "plain" not in str(refused.value)
