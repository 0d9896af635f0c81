"""The messages that were sent with a callback, from ``send_async`` to the call of it."""

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from magnetar.client import blocking
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import MagnetarError, QueueFull
from magnetar.model.position import MessageId as OurMessageId

from .callbacks import Callbacks
from .enums import Result
from .errors import result_of
from .message_id import MessageId

SendCallback = Callable[[Result, MessageId], object]


class AsyncSends:
    """The most unsettled sends of a producer: as many as its queue takes."""

    def __init__(
        self, producer: blocking.Producer[bytes], callbacks: Callbacks, *, wait: bool
    ) -> None:
        """``wait``: with a full queue ``send`` waits for room; else the callback is told."""
        self._producer = producer
        self._callbacks = callbacks
        self._wait = wait

    def send(self, message: OutgoingMessage, callback: SendCallback) -> None:
        """Send a message; what becomes of it the callback is told, whatever it is."""
        try:
            future = self._submitted(message)
        except MagnetarError as error:
            self._callbacks.put(callback, result_of(error), MessageId())
        else:
            future.add_done_callback(partial(self._settled, callback))

    def _submitted(self, message: OutgoingMessage) -> Future[OurMessageId]:
        while True:
            try:
                return self._producer.submit(message)
            except QueueFull:
                if not self._wait:
                    raise
            self._producer.ready()

    def _settled(self, callback: SendCallback, future: Future[OurMessageId]) -> None:
        error = future.exception()
        if error is None:
            self._callbacks.put(callback, Result.Ok, MessageId._of(future.result()))
        else:
            self._callbacks.put(callback, result_of(error), MessageId())
