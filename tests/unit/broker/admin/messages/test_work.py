import asyncio

import pytest

from magnetar.broker.admin.messages import work as works
from magnetar.broker.admin.messages.redrive_progress import Progress
from magnetar.broker.admin.messages.work import READERS_MAX, REDRIVES_MAX, MessageWork
from magnetar.errors import AlreadyExists
from magnetar.model.names import TopicName
from magnetar.rest.errors import Rejection
from magnetar.tasks import Tasks

TOPICS = [TopicName.parse(f"t{number}") for number in range(REDRIVES_MAX + 1)]


class Endless:
    """Stands for a redrive."""

    def __init__(self):
        self.progress = Progress()

    async def run(self):
        await asyncio.get_running_loop().create_future()


async def test_few_pages_are_looked_for_at_once():
    work = MessageWork()
    for _ in range(READERS_MAX):
        await work.reading.acquire()
    assert work.reading.locked()


async def test_letters_of_few_topics_are_sent_back_at_once_and_all_end_with_the_server():
    work, tasks = MessageWork(), Tasks("test")
    tasks.spawn("messages", work.run())
    await asyncio.sleep(0)
    for topic in TOPICS[:REDRIVES_MAX]:
        work.start_redrive(topic, Endless())
    with pytest.raises(AlreadyExists, match="being sent back"):
        work.start_redrive(TOPICS[0], Endless())
    with pytest.raises(Rejection, match="wait for one"):
        work.start_redrive(TOPICS[-1], Endless())
    await work.stop_redrive(TOPICS[0])
    await work.stop_redrive(TOPICS[-1])
    work.start_redrive(TOPICS[-1], Endless())
    await tasks.close()
    work.check_redrive(TOPICS[1])


async def test_how_redrives_ended_is_known_of_so_many_topics(monkeypatch):
    monkeypatch.setattr(works, "REDRIVES_KEPT_MAX", 2)
    work = MessageWork()
    for topic in TOPICS:
        work.start_redrive(topic, Endless())
        await work.stop_redrive(topic)
    assert [work.redrive_of(topic) is None for topic in TOPICS] == [True, False, False]
