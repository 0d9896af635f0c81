"""Who is told what arrives on a connection: producers, consumers and watchers of topics."""

from typing import TYPE_CHECKING, Protocol, TypeVar

from magnetar.errors import MagnetarError
from magnetar.wire.frames import Frame

if TYPE_CHECKING:
    from .connection import Connection


class Detachable(Protocol):
    """What a connection tells a producer and a consumer."""

    def on_detached(self, connection: "Connection", error: MagnetarError | None) -> None:
        """The broker closed it (``error`` is None), or the connection is gone."""


class ProducerSide(Detachable, Protocol):
    """What a connection tells a producer."""

    def on_receipt(self, frame: Frame) -> None: ...

    def on_send_error(self, frame: Frame) -> None: ...


class ConsumerSide(Detachable, Protocol):
    """What a connection tells a consumer."""

    def on_message(self, frame: Frame) -> None: ...

    def on_ack_response(self, request_id: int, error: MagnetarError | None) -> None: ...

    def on_active_change(self, frame: Frame) -> None: ...

    def on_end_of_topic(self) -> None: ...


class WatcherSide(Detachable, Protocol):
    """What a connection tells a watcher of topics."""

    def on_topics(self, frame: Frame) -> None: ...


S = TypeVar("S", ProducerSide, ConsumerSide, WatcherSide)
