"""How a connection begins: what it shows the broker, and how the broker takes it."""

import asyncio
from collections.abc import Callable, Mapping

from magnetar.errors import ConnectionLost, MagnetarError, NotAuthenticated
from magnetar.tasks import Tasks
from magnetar.wire.commands import BaseCommand
from magnetar.wire.frames import Frame
from magnetar.wire.handshake import ClientHandshake

from .credentials import Credentials
from .endpoint import Endpoint


class SignIn:
    """The handshake of one connection, and the credentials that the broker asks for later."""

    handshake: ClientHandshake  # What both sides agreed on.
    commands: Mapping[int, Callable[[Frame], None]]

    def __init__(
        self,
        endpoint: Endpoint,
        credentials: Credentials,
        *,
        write: Callable[[bytes], None],
        abort: Callable[[MagnetarError], None],
    ) -> None:
        proxied = endpoint.logical if endpoint.logical != endpoint.physical else None
        self.handshake = ClientHandshake(
            proxy_to_broker_url=proxied,
            auth_method=credentials.method,
            on_behalf=credentials.on_behalf,
        )
        self.commands = {
            BaseCommand.CONNECTED: self._on_connected,
            BaseCommand.AUTH_CHALLENGE: self._on_challenge,
        }
        self._address = endpoint.physical
        self._credentials = credentials
        self._write = write
        self._abort = abort
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._answering: asyncio.Task[None] | None = None  # To an AUTH_CHALLENGE.

    async def hello(self) -> bytes:
        """The first frame. Raises why there are no credentials, as ``Credentials.data``."""
        return self.handshake.hello(await self._credentials.data())

    async def done(self) -> None:
        """Wait for the broker's answer. Raises what ``end`` was given."""
        await self._done

    def refusal(self, error: MagnetarError) -> MagnetarError | None:
        """The broker's ERROR, where it answers the first frame, with what was refused."""
        if self._done.done():
            return None
        if isinstance(error, NotAuthenticated):
            return self._credentials.refusal(self._address, error)
        return error

    def end(self, error: MagnetarError) -> None:
        """The connection is over."""
        if not self._done.done():
            self._done.set_exception(error)
            self._done.exception()  # Retrieved, even when it is not awaited any more.
        if self._answering is not None:
            self._answering.cancel()

    def _on_connected(self, frame: Frame) -> None:
        self.handshake.received(frame)
        if not self._done.done():
            self._done.set_result(None)

    def _on_challenge(self, frame: Frame) -> None:
        """Show who the client is, as it is now: the broker asks when what it was shown expires."""
        if self._answering is None or self._answering.done():
            self._answering = Tasks("connection").spawn("authenticate", self._answer_challenge())

    async def _answer_challenge(self) -> None:
        try:
            self._write(self.handshake.answer(await self._credentials.data()))
        except MagnetarError as error:
            self._abort(ConnectionLost(f"{self._address} wants new credentials: {error}"))
