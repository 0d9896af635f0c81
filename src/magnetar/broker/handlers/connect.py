"""CONNECT and keep-alive: the commands a client may send before anything else."""

import logging
import sys
from collections.abc import Coroutine
from typing import Any, Final

from magnetar.broker.session import CPP_CLIENT, Session
from magnetar.errors import AccessError, MagnetarError, NotAuthenticated, UnexpectedCommand
from magnetar.wire import replies
from magnetar.wire.commands import CommandAuthResponse, CommandConnect, CommandPing, CommandPong
from magnetar.wire.handshake import PROTOCOL_VERSION_MAX, SERVER_VERSION

from .sign_in import FAILED, SignIn, failure

log = logging.getLogger(__name__)

TOPIC_WATCHERS: Final = "supports_topic_watchers"

CLIENT_VERSION_LENGTH_MAX: Final = 256  # It is kept for each connection, and shown in stats.


class ConnectHandler:
    """Agrees with a client on a protocol version, once it is known who that is."""

    def __init__(
        self,
        *,
        message_size_max: int,
        topic_watchers: bool = True,
        sign_in: SignIn | None = None,
    ) -> None:
        """Without ``sign_in`` nobody is asked who it is, and credentials are not looked at."""
        self._message_size_max = message_size_max
        self._features = (*replies.FEATURES, *[TOPIC_WATCHERS] * topic_watchers)
        self._sign_in = sign_in

    def on_connect(
        self, session: Session, command: CommandConnect
    ) -> Coroutine[Any, Any, None] | None:
        if session.connected or session.signing_in:
            raise UnexpectedCommand("a second CONNECT")
        if self._sign_in is None:
            self._welcome(session, command)
            return None
        session.signing_in = True
        return self._sign_in_first(self._sign_in, session, command)

    async def _sign_in_first(
        self, sign_in: SignIn, session: Session, command: CommandConnect
    ) -> None:
        try:
            await sign_in.connect(session, command)
        except MagnetarError as error:
            sign_in.note_refused(session, command.auth_method_name, error)
            self._refuse(session, command, failure(error))
        else:
            self._welcome(session, command)

    def _refuse(self, session: Session, command: CommandConnect, error: MagnetarError) -> None:
        log.info("connection.refused address=%s error=%s", session.address, error)
        if isinstance(error, AccessError) and command.client_version.startswith(CPP_CLIENT):
            session.unwelcome = str(error)
            self._welcome(session, command)
            return
        session.reply(replies.error(replies.NO_REQUEST, error))
        session.hang_up("it is not let in")

    def _welcome(self, session: Session, command: CommandConnect) -> None:
        version = min(command.protocol_version, PROTOCOL_VERSION_MAX)
        # Clients have few different versions, so that equal ones are kept once.
        client_version = sys.intern(command.client_version[:CLIENT_VERSION_LENGTH_MAX])
        session.replicates_by_position = command.feature_flags.supports_repl_dedup_by_lid_and_eid
        session.greet(client_version, version)
        session.reply(
            replies.connected(
                SERVER_VERSION, version, self._message_size_max, features=self._features
            )
        )

    def on_auth_response(
        self, session: Session, command: CommandAuthResponse
    ) -> Coroutine[Any, Any, None] | None:
        """The client answers a challenge, or one that the broker did not send."""
        if self._sign_in is None or not session.connected:
            self._end(session, NotAuthenticated(FAILED))
            return None
        return self._check_answer(self._sign_in, session, command.response.auth_data)

    async def _check_answer(self, sign_in: SignIn, session: Session, data: bytes) -> None:
        try:
            await sign_in.answered(session, data)
        except MagnetarError as error:
            sign_in.note_refused(session, "", error)
            self._end(session, failure(error))

    def _end(self, session: Session, error: MagnetarError) -> None:
        session.reply(replies.error(replies.NO_REQUEST, error))
        session.hang_up(f"AUTH_RESPONSE: {error}")

    def on_ping(self, session: Session, _: CommandPing) -> None:
        session.reply(replies.pong())

    def on_pong(self, session: Session, _: CommandPong) -> None:
        """A PONG only shows that the client is there, which the connection noted already."""
