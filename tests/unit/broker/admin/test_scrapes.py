from magnetar.broker.admin.scrapes import Scrapes


async def test_an_answer_is_kept_for_each_format():
    async def pieces():
        yield b"a"
        yield b"b"

    scrapes = Scrapes()
    await scrapes.keep(5, "application/openmetrics-text", pieces())
    kept = await scrapes.keep(7, "text/plain", pieces())
    assert (kept.body, kept.made_at) == (b"ab", 7)
    assert set(scrapes.kept) == {True, False}
