from magnetar.broker.admin.messages.work import READERS_MAX, MessageWork


async def test_few_pages_are_looked_for_at_once():
    work = MessageWork()
    for _ in range(READERS_MAX):
        await work.reading.acquire()
    assert work.reading.locked()
