import asyncio
import threading

import pytest

from magnetar.errors import StorageError
from magnetar.storage.metadata.thread_queue import ThreadQueue


class Worker:
    """A thread that does one batch after the other, and lists them."""

    def __init__(self, **limits):
        self.queue = ThreadQueue(**limits)
        self.sizes = []
        self.may_take = threading.Event()
        self.may_take.set()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        running = True
        while running:
            self.may_take.wait()
            batch, running = self.queue.take(None)
            if batch:
                self.sizes.append(len(batch))
                self.queue.answer(batch, [self._do(operation) for operation in batch])

    def _do(self, operation):
        try:
            return operation.work(self)
        except ArithmeticError as error:
            return error

    async def ask(self, work, *, writes=False):
        return await self.queue.ask(work, writes=writes)


@pytest.fixture
async def worker():
    worker = Worker()
    yield worker
    worker.may_take.set()
    worker.queue.end()
    await asyncio.to_thread(worker.thread.join)


async def test_who_asks_gets_the_answer(worker):
    assert await worker.ask(lambda who: (who is worker, threading.current_thread())) == (
        True,
        worker.thread,
    )


async def test_who_asks_gets_the_error(worker):
    with pytest.raises(ZeroDivisionError):
        await worker.ask(lambda _: 1 // 0)
    assert await worker.ask(lambda _: "fine") == "fine"


async def test_what_waits_is_taken_at_once(worker):
    worker.may_take.clear()
    await worker.ask(lambda _: None)  # It was waiting already.
    asked = [asyncio.ensure_future(worker.ask(lambda _: None)) for _ in range(50)]
    await asyncio.sleep(0)
    worker.may_take.set()
    await asyncio.gather(*asked)
    assert worker.sizes == [1, 50]


async def test_no_batch_is_endless():
    worker = Worker(batch_max=20)
    worker.may_take.clear()
    await worker.ask(lambda _: None)
    asked = [asyncio.ensure_future(worker.ask(lambda _: None)) for _ in range(50)]
    await asyncio.sleep(0)
    worker.may_take.set()
    await asyncio.gather(*asked)
    assert worker.sizes == [1, 20, 20, 10]
    worker.queue.end()
    await asyncio.to_thread(worker.thread.join)


async def test_who_brings_too_much_waits_for_a_place():
    worker = Worker(waiting_max=5)
    worker.may_take.clear()
    await worker.ask(lambda _: None)
    asked = [asyncio.ensure_future(worker.ask(lambda _: None)) for _ in range(12)]
    await asyncio.sleep(0)
    worker.may_take.set()
    await asyncio.gather(*asked)
    assert sum(worker.sizes) == 13
    assert max(worker.sizes) == 5
    worker.queue.end()
    await asyncio.to_thread(worker.thread.join)


async def test_what_was_handed_over_is_done_though_nobody_waits(worker):
    done = []
    asked = asyncio.ensure_future(worker.ask(lambda _: done.append(1)))
    failing = asyncio.ensure_future(worker.ask(lambda _: 1 // 0))
    await asyncio.sleep(0)
    asked.cancel()
    failing.cancel()
    await worker.ask(lambda _: None)
    assert done == [1]


async def test_a_thread_looks_up_when_it_has_waited_long_enough():
    queue = ThreadQueue()
    assert queue.take(0.001) == ([], True)
    queue.end()
    assert queue.take(0.001) == ([], False)


async def test_what_came_before_the_end_is_taken_with_it():
    queue = ThreadQueue()
    answer = queue.post(lambda _: None, writes=True)
    queue.end()
    batch, running = queue.take(None)
    assert [operation.answer for operation in batch] == [answer]
    assert batch[0].writes
    assert not running


def test_a_loop_that_is_gone_needs_no_answer():
    async def make():
        return ThreadQueue()

    queue = asyncio.run(make())
    queue.call(print, "nobody hears this")


async def test_who_still_waits_for_a_place_at_the_end_is_told():
    queue = ThreadQueue(waiting_max=2)
    asked = [asyncio.ensure_future(queue.ask(lambda _: 7, writes=False)) for _ in range(9)]
    await asyncio.sleep(0)
    queue.end()
    batch, running = queue.take(None)
    queue.answer(batch, [7] * len(batch))
    async with asyncio.timeout(10):
        results = await asyncio.gather(*asked, return_exceptions=True)
    assert not running
    assert results[:2] == [7, 7]
    assert {type(result) for result in results[2:]} == {StorageError}
