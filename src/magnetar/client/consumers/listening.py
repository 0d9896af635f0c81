"""Hands what a consumer or reader receives to a listener: in order, one message at a time."""

import inspect
import logging
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any

from magnetar.client.message import Message
from magnetar.errors import InvalidValue, MagnetarError
from magnetar.schemas.schema import T

log = logging.getLogger(__name__)


async def listen(
    messages: AsyncIterable[Message[T]],
    listener: Callable[[Message[T]], Awaitable[object]],
    topic: str,
    failed: Callable[[Message[T]], None],
) -> None:
    """Until the consumer or reader is closed, or the broker refuses it.

    A message whose listener raises is logged, and ``failed`` is called with it.
    """
    try:
        async for message in messages:
            try:
                await listener(message)
            except Exception:
                log.exception(
                    "consumer.listener_failed topic=%s message=%s",
                    message.topic,
                    message.message_id,
                )
                failed(message)
    except MagnetarError as error:
        log.warning("consumer.listener_ended topic=%s error=%s", topic, error)


def check_listener(listener: Callable[..., Any] | None) -> None:
    """Raises InvalidValue for what is no coroutine function."""
    if listener is not None and not (
        inspect.iscoroutinefunction(listener)
        or inspect.iscoroutinefunction(getattr(listener, "__call__", None))  # noqa: B004
    ):
        raise InvalidValue(
            f"listener must be a coroutine function (async def), not {listener!r:.100}; the client "
            "of magnetar.client.blocking takes others"
        )
