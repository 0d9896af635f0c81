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


def start(work, topic):
    """Begin a redrive that does not end."""
    work.start_redrive(topic, Progress(), lambda: asyncio.Event().wait())


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
        start(work, topic)
    with pytest.raises(AlreadyExists, match="being sent back"):
        start(work, TOPICS[0])
    with pytest.raises(Rejection, match="wait for one"):
        start(work, TOPICS[-1])
    await work.stop_redrive(TOPICS[0])
    await work.stop_redrive(TOPICS[-1])
    start(work, TOPICS[-1])
    await tasks.close()
    start(work, TOPICS[1])
    await work.stop_redrive(TOPICS[1])


async def test_how_redrives_ended_is_known_of_so_many_topics(monkeypatch):
    monkeypatch.setattr(works, "REDRIVES_KEPT_MAX", 2)
    work = MessageWork()
    for topic in TOPICS:
        start(work, topic)
        await work.stop_redrive(topic)
    assert [work.redrive_of(topic) is None for topic in TOPICS] == [True, False, False]
