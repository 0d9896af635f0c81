"""Sends one message to a function, and waits for what it makes of it."""

import asyncio
import base64
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from magnetar.client.client import Client
from magnetar.client.consumers.reader import Reader
from magnetar.errors import MagnetarError, TimedOut
from magnetar.model.names import TopicName
from magnetar.model.position import LATEST_MESSAGE, MessageId
from magnetar.rest.errors import Rejection
from magnetar.schemas.auto import AutoProduceSchema
from magnetar.tasks import Tasks

TIMEOUT_S: Final = 30.0
INPUT_TOPIC: Final = "__pfn_input_topic__"
INPUT_ID: Final = "__pfn_input_msg_id__"
"""The properties that say of a function's message which one it was made from, as Pulsar's do."""


_LOOK_S: Final = 0.1
Exceptions = Callable[[], Iterable[Mapping[str, Any]]]
"""The exceptions that a function raised last, as its status shows them."""


async def trigger(
    client: Client, topic: str, data: bytes, output: str | None, exceptions: Exceptions
) -> bytes | None:
    """Send a message to an input. What is written to ``output`` for it; None without output.

    Raises Rejection with the exception that the function raised for it, TimedOut, InvalidValue
    where the topic's schema does not have such a message.
    """
    if output is None:
        await _send(client, topic, data)
        return None
    async with await client.create_reader(output, start=LATEST_MESSAGE) as reader:
        sent = await _send(client, topic, data)
        name = TopicName.parse(topic)
        tasks = Tasks("trigger")
        answer = tasks.start("answer", _answer(reader, name, sent))
        try:
            async with asyncio.timeout(TIMEOUT_S):
                while not answer.done():
                    for one in exceptions():
                        if _is_of(name, sent, one.get("topic"), one.get("messageId")):
                            raise _failed(one["exceptionString"])
                    await asyncio.wait([answer], timeout=_LOOK_S)
                return await answer
        except TimeoutError:
            raise TimedOut(
                f"nothing was written to {output} for the message within {TIMEOUT_S:g} s: look at "
                "the function's status, or at its log topic"
            ) from None
        finally:
            await tasks.close()


async def _send(client: Client, topic: str, data: bytes) -> MessageId:
    async with await client.create_producer(topic, schema=AutoProduceSchema()) as producer:
        return await producer.send(data)


async def _answer(reader: Reader[bytes], topic: TopicName, sent: MessageId) -> bytes:
    while True:
        message = await reader.receive()
        properties = message.properties
        if _is_of(topic, sent, properties.get(INPUT_TOPIC), properties.get(INPUT_ID)):
            return message.data


def _is_of(topic: TopicName, sent: MessageId, name: str | None, id_text: str | None) -> bool:
    """Whether a topic and an id, as a function says them, are those of the message."""
    if id_text is None or name not in _names(topic, sent):
        return False
    with suppress(ValueError, MagnetarError):  # Others may write there what they like.
        return MessageId.from_bytes(base64.urlsafe_b64decode(id_text)).position == sent.position
    return False


def _failed(trace: str) -> Rejection:
    """Says what was raised, which is what stands behind the last frame of the traceback."""
    lines = trace.strip().splitlines()
    last = max((number for number, line in enumerate(lines) if line.startswith("  ")), default=-1)
    raised = " ".join(lines[last + 1 :]) or lines[-1].strip()
    return Rejection(400, f"The function failed: {raised} (its status and log topic tell where)")


def _names(topic: TopicName, sent: MessageId) -> set[str]:
    """The topic, and the partition of it that the message went to."""
    return {str(topic)} | ({str(topic.partition(sent.partition))} if sent.partition >= 0 else set())
