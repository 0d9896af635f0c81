"""CONNECT and CONNECTED: what client and broker tell each other before anything else. Pure."""

from magnetar.errors import UnexpectedCommand
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.version import __version__

from . import requests
from .frames import MESSAGE_SIZE_MAX, Frame, encode

PROTOCOL_VERSION_MAX = 21  # the newest spoken here
SERVER_VERSION = f"Magnetar {__version__}"
CLIENT_VERSION = f"Magnetar-Python-{__version__}"

# What a broker may count on with this client: fields of FeatureFlags. Entries with broker metadata
# in front are understood, new credentials are shown when the broker asks for them, and receipts for
# copies from another cluster may name their places there.
CLIENT_FEATURES = (
    "supports_auth_refresh",
    "supports_broker_entry_metadata",
    "supports_repl_dedup_by_lid_and_eid",
)


_REFRESH = b"PulsarAuthRefresh"  # Clients answer it with credentials as they are then.


def challenge(auth_method: str, protocol_version: int) -> bytes:
    """The AUTH_CHALLENGE by which a broker asks for new credentials."""
    return encode(
        pb.CommandAuthChallenge(
            server_version=SERVER_VERSION,
            protocol_version=protocol_version,
            challenge=pb.AuthData(auth_method_name=auth_method, auth_data=_REFRESH),
        )
    )


class ClientHandshake:
    """The client's side of one connection: send ``hello``, then wait for CONNECTED."""

    connected: bool
    server_version: str  # "" until connected
    protocol_version: int  # what both speak; 0 until connected
    max_message_size: int  # bytes of payload the broker takes in one entry
    supports_topic_watchers: bool  # whether the broker takes WATCH_TOPIC_LIST
    replicates_by_position: bool  # whether it knows copies from another cluster by their places

    def __init__(
        self,
        *,
        proxy_to_broker_url: str | None = None,
        auth_method: str = "none",
        on_behalf: requests.OnBehalf | None = None,
    ) -> None:
        """``proxy_to_broker_url`` is the broker's host:port when a proxy stands in between.

        ``on_behalf``: this is a proxy, and asks for that client.
        """
        self.connected = False
        self.server_version = ""
        self.protocol_version = 0
        self.max_message_size = MESSAGE_SIZE_MAX
        self.supports_topic_watchers = False
        self.replicates_by_position = False
        self._proxy_to_broker_url = proxy_to_broker_url
        self._auth_method = auth_method
        self._on_behalf = on_behalf

    def hello(self, auth_data: bytes | None = None) -> bytes:
        return requests.connect(
            CLIENT_VERSION,
            PROTOCOL_VERSION_MAX,
            features=CLIENT_FEATURES,
            proxy_to_broker_url=self._proxy_to_broker_url,
            auth_method=self._auth_method,
            auth_data=auth_data,
            on_behalf=self._on_behalf,
        )

    def answer(self, auth_data: bytes | None) -> bytes:
        """What answers an AUTH_CHALLENGE, which may come at any time."""
        return requests.auth_response(
            CLIENT_VERSION, PROTOCOL_VERSION_MAX, self._auth_method, auth_data or b""
        )

    def received(self, frame: Frame) -> None:
        """Take the CONNECTED; a second one, or anything else, is UnexpectedCommand."""
        if self.connected or not frame.command.HasField("connected"):
            raise UnexpectedCommand(f"command {frame.command.type} in place of the CONNECTED")
        answer = frame.command.connected
        self.connected = True
        self.server_version = answer.server_version
        features = answer.feature_flags
        self.supports_topic_watchers = features.supports_topic_watchers
        self.replicates_by_position = features.supports_repl_dedup_by_lid_and_eid
        self.protocol_version = min(answer.protocol_version, PROTOCOL_VERSION_MAX)
        if answer.max_message_size > 0:
            self.max_message_size = answer.max_message_size
