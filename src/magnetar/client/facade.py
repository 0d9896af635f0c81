"""What every blocking class has: the asyncio object behind it, and ways to call that."""

import logging
import sys
import warnings
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import islice
from typing import Any, Final, ParamSpec, TypeVar, Unpack
from weakref import finalize, ref

from magnetar.errors import AlreadyClosed, MagnetarError
from magnetar.model.position import MessageId

from .client import Client
from .config import ClientOptions
from .failover import AutoClusterFailover, ControlledClusterFailover, ServiceInfo
from .handover import Handover
from .leaving import added_to, time_to_close
from .listener_thread import ListenerThread
from .loop_thread import LoopThread, loop_thread, making
from .message import Delivery, Message

log = logging.getLogger(__name__)
T = TypeVar("T")
P = ParamSpec("P")

LIST_SIZE: Final = 1000  # Of an iterable without end, so many are taken at a time.


class Facade:
    """The blocking side of an asyncio object.

    A process that was forked makes another one, in the same way, when it uses it first. What was
    made before belongs to its parent: closing it does nothing. What is dropped is closed.
    """

    def __init__(self, make: Callable[[LoopThread], Any]) -> None:
        self._make = make
        self._closed = False
        self._begin_here()

    @property
    def _asyncio(self) -> Any:
        self.own()
        return self._made

    def own(self) -> None:
        """Be of this process."""
        if self._thread.inherited:
            self._make_again()

    def _make_again(self) -> None:
        with making():
            if self._closed:
                raise AlreadyClosed("it was closed before it was used in this process")
            if self._thread.inherited:
                self._begin_here()

    def _begin_here(self) -> None:
        with self._loop_thread() as thread:
            self._begin(thread)
            self._thread = thread  # Last: other threads see what is ready.

    def _loop_thread(self) -> AbstractContextManager[LoopThread]:
        return loop_thread()

    def _begin(self, thread: LoopThread) -> None:
        made = self._make(thread)
        try:
            self._dropped = finalize(self, self._forgotten, thread, made)
            self._dropped.atexit = False
            self._made = made
        except BaseException:  # An interruption: nothing else refers to it.
            thread.finish_later(made.close)
            raise

    def _run(
        self, function: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return self._thread.run(partial(function, *args, **kwargs))

    def _call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return self._thread.call(function, *args, **kwargs)

    def _wait_for(
        self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return self._thread.wait_for(function, *args, **kwargs)

    def _take_many(
        self,
        function: "Callable[P, Coroutine[Any, Any, list[Message[T]]]]",
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> "list[Message[T]]":
        return self._thread.run(partial(function, *args, **kwargs), self._made._put_back)

    def _close(self, timeout_s: float | None = None) -> None:
        self._closed = True
        if self._thread.inherited:
            return
        raised = sys.exception()
        with added_to(None if isinstance(raised, Exception) else raised):
            try:
                self._finish(time_to_close(timeout_s))
            except MagnetarError:
                self._dropped.detach()
                raise
            self._dropped.detach()

    def _finish(self, timeout_s: float | None) -> None:
        self._thread.finish(partial(self._made.close, timeout_s))

    @staticmethod
    def _forgotten(thread: LoopThread, made: Any) -> None:
        thread.finish_later(made.close)


class MadeFacade(Facade):
    """The blocking side of what a client makes."""

    def __init__(
        self,
        client: "ClientFacade",
        make: Callable[[], Coroutine[Any, Any, Any]],
        listener: Callable[[Any, Any], object] | None = None,
    ) -> None:
        """``listener`` is called with this and each message, in a thread of the client."""
        self._client = client  # It stays open as long as this one is in use.
        self._listener = listener
        super().__init__(lambda thread: thread.make(make, _close))

    def _loop_thread(self) -> AbstractContextManager[LoopThread]:
        self._client.own()  # First, since the loop's thread could not wait for itself.
        return nullcontext(self._client._thread)


class ProducerFacade(MadeFacade):
    """The blocking side of a producer."""

    def _begin(self, thread: LoopThread) -> None:
        super()._begin(thread)
        self._own_handover: Handover[Any] = Handover(self._made, thread)

    @property
    def _handover(self) -> Handover[Any]:
        self.own()
        return self._own_handover


class ReceiverFacade(MadeFacade):
    """The blocking side of a consumer or reader."""

    def _begin(self, thread: LoopThread) -> None:
        super()._begin(thread)
        self._made._facade = ref(self)
        self._acknowledged: deque[Message[Any] | MessageId] = deque()
        self._needs_none: Delivery | None = None  # One that ``_needs_no_answer``, as the last did.
        self._interrupted = False  # A call was, and the loop may not have heard of it.
        self._posted = False  # Invariant: it is True only while the loop is going to take them.
        if self._listener is not None:
            hand = partial(self._client.listener_thread(self).call, self._listener, self)
            self._thread = thread  # The listener may use it, and all above, at once.
            thread.call(self._made._start_listening, hand)

    def _take(self, timeout_s: float | None) -> "Message[Any]":
        """Receive a message. When the call is interrupted, the next one gets it."""
        if self._thread.inherited:
            self.own()
        made, thread = self._made, self._thread
        try:
            # What an interrupted call leaves is put back on the loop, and comes before all others.
            message: Message[Any] | None = None if self._interrupted else made._pop(thread.post)
            if message is None:
                work = partial(made.receive, timeout_s)
                message = thread.run(work, lambda message: made._put_back([message]))
                self._interrupted = False
        except MagnetarError:
            raise
        except BaseException:
            self._interrupted = True
            raise
        return message

    def _acknowledge(
        self, messages: "Message[Any] | MessageId | Iterable[Message[Any] | MessageId]", txn: Any
    ) -> None:
        """Messages are left to be acknowledged with others, if the broker need not answer.

        A transaction waits for the answers, when it is committed.
        """
        if (
            txn is None
            and isinstance(messages, Message)
            and messages.delivery is self._needs_none
            and not self._thread.inherited
        ):
            self._acknowledged.append(messages)
            if not self._posted:
                self._post_acknowledged()
            return
        consumer = self._asyncio
        if txn is not None:
            self._call(consumer.acknowledge, listed(messages), txn=inner(txn))
            return
        messages = listed(messages)
        if not consumer._needs_no_answer(messages):
            self._wait_for(consumer.acknowledge, messages)
            return
        if isinstance(messages, (Message, MessageId)):
            self._needs_none = messages.delivery if isinstance(messages, Message) else None
            self._acknowledged.append(messages)
        else:
            self._acknowledged.extend(messages)
        self._post_acknowledged()

    def _post_acknowledged(self) -> None:
        if not self._posted:
            self._thread.post(self._acknowledge_all)
            self._posted = True  # An interruption before this costs a look for nothing.

    def _acknowledge_all(self) -> None:
        self._posted = False  # What comes from now on is posted again.
        taken = [self._acknowledged.popleft() for _ in range(len(self._acknowledged))]
        try:
            self._made.acknowledge(taken)
        except MagnetarError as error:
            log.warning("consumer.not_acknowledged messages=%d error=%s", len(taken), error)

    def _close(self, timeout_s: float | None = None) -> None:
        self._needs_none = None
        super()._close(timeout_s)


class ClientFacade(Facade):
    """The blocking side of a client."""

    def __init__(
        self,
        service_url: str | ServiceInfo | AutoClusterFailover | ControlledClusterFailover,
        **options: Unpack[ClientOptions],
    ) -> None:
        """As ``magnetar.Client``."""

        def make(thread: LoopThread) -> Client:
            async def opened() -> Client:
                client = Client(service_url, **options)
                thread.keep(client)
                return client

            self._listener_threads: dict[int, ListenerThread] = {}
            return thread.make(opened, thread.drop)

        self._listener_threads_max = options.get("listener_threads", 1)

        super().__init__(make)

    def listener_thread(self, listening: object) -> ListenerThread:
        """The thread that calls the listener of a consumer or reader, chosen by its hash."""
        number = hash(listening) % self._listener_threads_max
        with making():
            if number not in self._listener_threads:
                thread = ListenerThread(f"magnetar-listener-{number}")
                self._listener_threads[number] = thread
            return self._listener_threads[number]

    def _finish(self, timeout_s: float | None) -> None:
        try:
            self._thread.finish(partial(self._thread.drop, self._made, timeout_s))
        finally:
            listening = [each for each in self._listener_threads.values() if not each.end()]
            if not listening:  # What a listener does is not waited for.
                self._thread.join()

    @staticmethod
    def _forgotten(thread: LoopThread, made: Any) -> None:
        if not thread.over and not thread.inherited:
            warnings.warn(f"unclosed {made}", ResourceWarning, stacklevel=2)
            thread.finish_later(partial(thread.drop, made))


def inner(made: Facade | None) -> Any:
    """The asyncio object behind a blocking one that is given to a call."""
    return None if made is None else made._asyncio


def listed(values: T) -> T:
    """Run through an iterator here: the loop would run its code between the messages of others."""
    return list(values) if isinstance(values, Iterator) else values  # type: ignore[return-value]


def lists(values: Iterable[T]) -> Iterator[Iterable[T]]:
    """The same for one without end, in lists of LIST_SIZE."""
    if not isinstance(values, Iterator):
        yield values
        return
    while some := list(islice(values, LIST_SIZE)):
        yield some


async def _close(made: Any) -> None:
    await made.close()
