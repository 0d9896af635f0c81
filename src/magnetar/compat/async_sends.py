"""The messages that were sent with a callback, from ``send_async`` to the callback's return."""

import threading
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
    """Those of one producer whose callbacks have not returned; as many as its queue takes."""

    def __init__(self, producer: blocking.Producer, callbacks: Callbacks, *, wait: bool) -> None:
        """``wait``: with a full queue ``send`` waits for room; else the callback is told."""
        self._producer = producer
        self._callbacks = callbacks
        self._wait = wait
        self._last = 0
        self._open: dict[int, None] = {}  # Invariant: in the order of their numbers.
        self._called = threading.Condition()

    def send(self, message: OutgoingMessage, callback: SendCallback) -> None:
        """Send a message; what becomes of it the callback is told, whatever it is."""
        with self._called:
            self._last += 1
            number = self._last
            self._open[number] = None
        try:
            future = self._submitted(message)
        except BaseException as error:
            self._callbacks.put(
                partial(self._call, number, callback, result_of(error), MessageId())
            )
            if not isinstance(error, MagnetarError):
                raise
        else:
            future.add_done_callback(partial(self._settled, number, callback))

    def drain(self) -> None:
        """Return when those sent before have been called back; in a callback, at once."""
        if self._callbacks.current:
            return
        with self._called:
            last = self._last
            self._called.wait_for(lambda: next(iter(self._open), last + 1) > last)

    def _submitted(self, message: OutgoingMessage) -> Future[OurMessageId]:
        while True:
            try:
                return self._producer.submit(message)
            except QueueFull:
                if not self._wait:
                    raise
            self._producer.ready()

    def _settled(self, number: int, callback: SendCallback, future: Future[OurMessageId]) -> None:
        error = future.exception()
        if error is None:
            result, message_id = Result.Ok, MessageId._of(future.result())
        else:
            result, message_id = result_of(error), MessageId()
        self._callbacks.put(partial(self._call, number, callback, result, message_id))

    def _call(
        self, number: int, callback: SendCallback, result: Result, message_id: MessageId
    ) -> None:
        try:
            callback(result, message_id)
        finally:
            with self._called:
                del self._open[number]
                self._called.notify_all()
