import threading

import pytest

from magnetar.client.authentication.token import AuthenticationToken
from magnetar.errors import InvalidValue, NotAuthenticated


async def test_a_token_is_shown_as_it_is_given():
    assert await AuthenticationToken("abc").data() == b"abc"


async def test_a_function_is_asked_every_time_and_off_the_loop():
    asked = []

    def token():
        asked.append(threading.current_thread())
        return f"t{len(asked)}"

    authentication = AuthenticationToken(token)
    assert [await authentication.data() for _ in range(2)] == [b"t1", b"t2"]
    assert threading.main_thread() not in asked


async def test_a_coroutine_function_is_awaited():
    async def token():
        return "abc"

    assert await AuthenticationToken(token).data() == b"abc"
    assert await AuthenticationToken(lambda: token()).data() == b"abc"  # noqa: PLW0108


async def test_a_file_is_read_every_time(tmp_path):
    file = tmp_path / "token"
    file.write_text("one\n")
    authentication = AuthenticationToken(file=str(file))
    assert await authentication.data() == b"one"
    file.write_text("two\n")
    assert await authentication.data() == b"two"
    file.write_text("\n")
    with pytest.raises(NotAuthenticated, match=f"{file} is empty"):
        await authentication.data()
    file.unlink()
    with pytest.raises(FileNotFoundError):
        await authentication.data()


@pytest.mark.parametrize("given", [{}, {"token": "a", "file": "b"}, {"token": 5}, {"token": b"x"}])
def test_one_source_is_needed(given):
    with pytest.raises(InvalidValue):
        AuthenticationToken(**given)


async def test_what_is_no_text_is_refused():
    with pytest.raises(NotAuthenticated, match="bytes"):
        await AuthenticationToken(lambda: b"abc").data()


def test_nothing_secret_is_shown():
    assert repr(AuthenticationToken("s3cret")) == "AuthenticationToken(...)"
    assert repr(AuthenticationToken(file="/f")) == "AuthenticationToken(file='/f')"
