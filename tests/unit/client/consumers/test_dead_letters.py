"""Messages that came too often are taken out, and stored or given to the application."""

import asyncio

from support.loop import until
from unit.client.consumers.test_letter_sender import Topics, sender
from unit.client.consumers.test_letters import message

from magnetar.client.consumers.dead_letters import DeadLetters
from magnetar.client.consumers.receive_queue import Opened
from magnetar.errors import TopicTerminated


class Desk:
    def __init__(self):
        self.topics = Topics()
        self.stored = []
        self.settled = []
        self.letters = DeadLetters(
            "t",
            sender(self.topics),
            self.note,
        )

    def note(self, outcome):
        self.stored += outcome.stored
        if not outcome.forgotten:
            self.settled.append((len(outcome.stored), outcome.refused))


def opened(count, *, messages=2):
    made = [message() for _ in range(messages)]
    for each in made:
        each.delivery.redelivery_count = count
    return Opened(made, 5)


async def test_what_came_as_often_as_it_may_is_delivered():
    desk = Desk()
    for count in (0, 2):
        entry = opened(count)
        assert desk.letters.filter(entry) is entry
    nothing = Opened([], 1)
    assert desk.letters.filter(nothing) is nothing
    await desk.letters.close()
    assert desk.topics.opened == []


async def test_what_came_more_often_is_stored_and_then_acknowledged():
    desk = Desk()
    desk.topics.may_open.clear()
    entry = opened(3)
    # Its other permits were for messages that are acknowledged.
    assert desk.letters.filter(entry) == Opened([], 3)
    assert desk.letters.held == 2
    await until(lambda: desk.topics.opened)
    assert desk.stored == []
    desk.topics.may_open.set()
    await desk.letters.sent(5.0)
    assert (desk.stored, desk.settled, desk.letters.held) == (entry.messages, [(2, [])], 0)
    await desk.letters.close()


async def test_what_is_refused_is_handed_back_and_logged_once(caplog):
    desk = Desk()
    desk.topics.refusal = TopicTerminated("it is over")
    first, second = opened(3), opened(4, messages=1)
    desk.letters.filter(first)
    desk.letters.filter(second)
    await desk.letters.sent(5.0)
    # Both wait for the one producer, which could not be made.
    assert desk.settled == [(0, [*first.messages, *second.messages])]
    assert [record.message for record in caplog.records] == [
        "consumer.dead_letters_refused topic=t messages=3 error=TopicTerminated('it is over')"
    ]
    await desk.letters.close()


async def test_what_comes_again_anyway_is_forgotten():
    desk = Desk()
    desk.topics.may_open.clear()
    first, second = opened(3), opened(3)
    desk.letters.filter(first)
    await until(lambda: desk.topics.opened)
    desk.letters.filter(second)
    desk.letters.clear()
    assert desk.letters.held == 0
    desk.topics.may_open.set()
    await desk.letters.sent(5.0)
    assert desk.stored == first.messages  # They were on their way.
    assert desk.settled == []  # Their permits went with the connection.
    await desk.letters.close()


async def test_waiting_for_letters_has_an_end():
    desk = Desk()
    desk.topics.may_open.clear()
    await desk.letters.sent(5.0)
    desk.letters.filter(opened(3))
    await asyncio.wait_for(desk.letters.sent(0.01), 5)
    await desk.letters.close()
    assert desk.stored == []
