"""What becomes of a producer or consumer that is being opened, whatever happens meanwhile."""

import asyncio
from itertools import product

import pytest

from magnetar.broker.attachments import TRANSITIONS, Attachments, Event, State
from magnetar.errors import NotAllowed, NotReady, TopicNotFound


class Client:
    """Opens producers, and notes which ones were detached."""

    def __init__(self) -> None:
        self.let_go: list[str] = []
        self.producers: Attachments[str] = Attachments(
            "producer", "maxProducersPerConnection", self._let_go
        )

    async def _let_go(self, attached: str) -> None:
        self.let_go.append(attached)


@pytest.fixture
def client() -> Client:
    return Client()


async def answer(attached: asyncio.Future[str]) -> str:
    return await attached


async def opened(client: Client, id: int) -> str | None:  # noqa: A002
    async def attach() -> str:
        return f"p{id}"

    return await client.producers.complete(client.producers.begin(id, count_max=0), attach())


async def test_one_that_was_attached_is_open(client):
    assert await opened(client, 1) == "p1"
    assert client.producers.open == {1: "p1"}
    assert client.producers.close(1) == "p1"
    assert client.producers.open == {}


async def test_one_that_is_closed_while_it_opens_is_let_go_of_once_attached(client):
    attached = asyncio.get_running_loop().create_future()
    opening = client.producers.begin(1, count_max=0)
    work = asyncio.ensure_future(client.producers.complete(opening, answer(attached)))
    assert client.producers.close(1) is None
    assert await opened(client, 1) == "p1"  # The id is free for another one at once.
    attached.set_result("abandoned")
    assert await work is None
    assert client.let_go == ["abandoned"]
    assert client.producers.open == {1: "p1"}


async def test_one_that_is_refused_leaves_its_id_free(client):
    async def refuse() -> str:
        raise TopicNotFound("nowhere")

    with pytest.raises(TopicNotFound):
        await client.producers.complete(client.producers.begin(1, count_max=0), refuse())
    assert await opened(client, 1) == "p1"


async def test_a_lost_connection_abandons_what_is_opening_and_returns_what_is_open(client):
    attached = asyncio.get_running_loop().create_future()
    await opened(client, 1)
    opening = client.producers.begin(2, count_max=0)
    work = asyncio.ensure_future(client.producers.complete(opening, answer(attached)))
    assert client.producers.close_all() == ["p1"]
    attached.set_result("p2")
    assert await work is None
    assert client.let_go == ["p2"]
    assert client.producers.open == {}


async def test_an_id_is_opened_once_at_a_time_and_those_that_open_count(client):
    client.producers.begin(1, count_max=2)
    with pytest.raises(NotReady, match="Producer is already present on the connection"):
        client.producers.begin(1, count_max=2)
    client.producers.begin(2, count_max=2)
    with pytest.raises(NotAllowed, match=r"has 2 producers.*raise maxProducersPerConnection"):
        client.producers.begin(3, count_max=2)


def test_nothing_but_a_close_happens_to_what_is_open_and_nothing_to_what_is_closed():
    for event in Event:
        assert (State.CLOSED, event) not in TRANSITIONS
        assert ((State.OPEN, event) in TRANSITIONS) is (event is Event.CLOSED)
    for state, event in product((State.OPENING, State.ABANDONED), Event):
        ends = TRANSITIONS.get((state, event))
        assert ends is not State.OPENING
        assert ends is not State.OPEN or state is State.OPENING
