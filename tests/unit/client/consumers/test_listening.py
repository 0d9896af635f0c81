"""What hands messages to a listener; ``tests/client/test_listeners.py`` sees it with a broker."""

from functools import partial

import pytest

from magnetar.client.consumers.listening import check_listener, listen
from magnetar.errors import InvalidValue, NotAuthorized


async def test_it_ends_when_the_broker_refuses_more(caplog):
    async def messages():
        yield b"only"
        raise NotAuthorized("no more")

    found = []

    async def listener(message):
        found.append(message)

    await listen(messages(), listener, "topic", found.append)
    assert found == [b"only"]
    assert "consumer.listener_ended topic=topic error=no more" in caplog.text


class Callable:
    async def __call__(self, consumer, message):
        pass


async def function(consumer, message):
    pass


@pytest.mark.parametrize("listener", [None, function, partial(function, 1), Callable()])
def test_coroutine_functions_of_all_kinds_will_do(listener):
    check_listener(listener)


@pytest.mark.parametrize("listener", [print, "name", lambda _, __: None])
def test_others_are_refused(listener):
    with pytest.raises(InvalidValue, match="listener must be a coroutine function"):
        check_listener(listener)
