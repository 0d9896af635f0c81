"""A client belongs to one event loop: the one in which it is used first."""

from asyncio import AbstractEventLoop, _get_running_loop

from magnetar.errors import NotAllowed


def check_loop(own: AbstractEventLoop) -> None:
    """Raises NotAllowed unless ``own`` runs here: all others would wait for ever, or interfere."""
    if _get_running_loop() is not own:
        raise _elsewhere(own)


def enter_loop(own: AbstractEventLoop | None) -> AbstractEventLoop:
    """As ``check_loop``, for what may have no loop yet: the running one becomes its own."""
    running = _get_running_loop()
    if running is None or (own is not None and running is not own):
        raise _elsewhere(own)
    return running


def _elsewhere(own: AbstractEventLoop | None) -> NotAllowed:
    if _get_running_loop() is None:
        return NotAllowed(
            "no event loop is running here: call this in a coroutine, or use the client of "
            "magnetar.client.blocking"
        )
    if own is not None and own.is_closed():
        return NotAllowed(
            "this client belongs to another event loop, which is closed: make a client in each "
            "asyncio.run()"
        )
    return NotAllowed("this client belongs to another event loop: use it there, or make one here")
