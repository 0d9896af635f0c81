"""CONNECT and keep-alive: the commands a client may send before anything else."""

import sys
from typing import Final

from magnetar.broker.auth.credentials import UNCHECKED, shows_credentials
from magnetar.broker.session import CPP_CLIENT, Session
from magnetar.errors import NotAuthenticated, UnexpectedCommand
from magnetar.wire import replies
from magnetar.wire.commands import CommandAuthResponse, CommandConnect, CommandPing, CommandPong
from magnetar.wire.handshake import PROTOCOL_VERSION_MAX, SERVER_VERSION

SERVER_FEATURES: Final = ("supports_get_partitioned_metadata_without_auto_creation",)
TOPIC_WATCHERS: Final = "supports_topic_watchers"

CLIENT_VERSION_LENGTH_MAX: Final = 256  # It is kept for each connection, and shown in stats.


class ConnectHandler:
    """Agrees with a client on a protocol version. No client is asked for credentials."""

    def __init__(self, *, message_size_max: int, topic_watchers: bool = True) -> None:
        self._message_size_max = message_size_max
        self._features = (*SERVER_FEATURES, *[TOPIC_WATCHERS] * topic_watchers)

    def on_connect(self, session: Session, command: CommandConnect) -> None:
        if session.connected:
            raise UnexpectedCommand("a second CONNECT")
        if shows_credentials(command):
            session.unwelcome = True
            if not command.client_version.startswith(CPP_CLIENT):
                session.reply(replies.error(replies.NO_REQUEST, NotAuthenticated(UNCHECKED)))
                session.hang_up("CONNECT with credentials")
                return
        version = min(command.protocol_version, PROTOCOL_VERSION_MAX)
        # Clients have few different versions, so that equal ones are kept once.
        client_version = sys.intern(command.client_version[:CLIENT_VERSION_LENGTH_MAX])
        session.greet(client_version, version)
        session.reply(
            replies.connected(
                SERVER_VERSION, version, self._message_size_max, features=self._features
            )
        )

    def on_auth_response(self, session: Session, _: CommandAuthResponse) -> None:
        """The client answers a challenge that the broker did not send."""
        session.reply(replies.error(replies.NO_REQUEST, NotAuthenticated("Failed to authenticate")))
        session.hang_up("AUTH_RESPONSE without a challenge")

    def on_ping(self, session: Session, _: CommandPing) -> None:
        session.reply(replies.pong())

    def on_pong(self, session: Session, _: CommandPong) -> None:
        """A PONG only shows that the client is there, which the connection noted already."""
