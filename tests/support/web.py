"""A web server for what our client asks over HTTP."""

from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def serving(answer):
    """Whatever is asked of ``host:port``, which this gives, ``answer(request)`` answers."""
    app = web.Application()
    app.router.add_route("*", "/{anything:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0]
        yield f"{host}:{port}"
    finally:
        await runner.cleanup()
