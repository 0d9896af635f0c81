import asyncio

from magnetar.storage.metadata.watches import Watches


async def test_a_watch_that_fails_keeps_nothing_from_others():
    unhandled, told, watches = [], [], Watches()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: unhandled.append(context["exception"]))
    watches.begin("/a", int)
    watches.begin("/a", told.append)
    watches.notify("/a")
    watches.notify("/a/b")
    assert told == [], "a watch is called by the loop"
    await asyncio.sleep(0)
    assert told == ["/a", "/a/b"]
    assert [type(error) for error in unhandled] == [ValueError] * 2


async def test_where_it_is_not_known_what_was_deleted_each_watch_is_told_its_prefix():
    told, watches = [], Watches()
    for prefix in ("/a", "/b/c"):
        watches.begin(prefix, told.append)
    watches.notify(None)
    await asyncio.sleep(0)
    assert told == ["/a", "/b/c"]


async def test_the_end_of_the_last_watch_is_told_once():
    ended, told = [], []
    watches = Watches(lambda: ended.append(1))
    assert not watches
    one, other = (watches.begin("/a", told.append) for _ in range(2))
    watches.notify("/a")
    one.cancel()
    assert watches
    assert not ended
    other.cancel()
    other.cancel()
    await asyncio.sleep(0)
    assert (ended, told) == ([1], []), "what was on its way to a cancelled watch is not told"
