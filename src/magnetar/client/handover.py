"""Messages that other threads send, on their way to the event loop's thread.

To cross to that thread costs a hundred times what sending a message does. So a thread checks its
message, leaves it here and goes on; the loop takes all that has come meanwhile as one list.
"""

import threading
from concurrent.futures import Future
from typing import Generic

from magnetar.checks import check_data
from magnetar.errors import MagnetarError
from magnetar.model.position import MessageId
from magnetar.schemas.schema import T

from .loop_thread import LoopThread
from .outgoing_message import Buffer, MessageDetails, OutgoingMessage, not_sent
from .producers.producer import Producer
from .producers.send_queue import Handed


class Handover(Generic[T]):
    """Takes the messages of one producer from any thread. Bounded as the producer's queue is."""

    def __init__(self, producer: Producer[T], thread: LoopThread) -> None:
        self._producer = producer
        self._thread = thread
        self._lock = threading.RLock()  # A handler of signals may send, too.
        self._posted = False  # Invariant: it is True only while the loop is going to take them.
        self._waiting: list[Handed] = []
        self._messages = 0  # Those waiting, and those that the loop is taking.
        self._size_bytes = 0

    def put(
        self,
        value: T | Buffer | OutgoingMessage[T],
        details: MessageDetails,
        receipt: Future[MessageId] | None = None,
    ) -> None:
        """Send a message. Raises QueueFull when the queue is full, AlreadyClosed, InvalidValue.

        What goes wrong later is told to ``receipt``, or without one to the producer's ``flush``.
        """
        data, message = self._producer._prepare(value, details)
        try:
            self._hand(data, message, receipt)
        except MagnetarError as error:
            not_sent(message, error)
            raise

    def _hand(
        self,
        data: bytes,
        message: OutgoingMessage | None,
        receipt: Future[MessageId] | None,
    ) -> None:
        if type(data) is not bytes:
            check_data(data)
        size = len(data) if message is None else len(data) + message.more_size
        handed = data if message is None and receipt is None else (data, message, receipt)
        with self._lock:
            self._producer._check_room(self._messages, self._size_bytes)
            self._messages += 1
            self._size_bytes += size
            self._waiting.append(handed)
            if not self._posted:
                self._thread.post(self._take)
                self._posted = True  # An interruption before this costs a look for nothing.

    def _take(self) -> None:
        with self._lock:
            taken, self._waiting, self._posted = self._waiting, [], False
            messages, size_bytes = self._messages, self._size_bytes
        try:
            self._producer._take(taken)
        finally:
            with self._lock:
                self._messages -= messages
                self._size_bytes -= size_bytes
