"""Sends one message to a function, and waits for what it makes of it."""

import asyncio
import base64
from contextlib import suppress
from typing import Final

from magnetar.client.client import Client
from magnetar.client.consumers.reader import Reader
from magnetar.client.message_id_bytes import parsed
from magnetar.errors import MagnetarError, TimedOut
from magnetar.model.names import TopicName
from magnetar.model.position import LATEST_MESSAGE, MessageId
from magnetar.schemas.auto import AutoProduceSchema

TIMEOUT_S: Final = 30.0
INPUT_TOPIC: Final = "__pfn_input_topic__"
INPUT_ID: Final = "__pfn_input_msg_id__"
"""The properties that say of a function's message which one it was made from, as Pulsar's do."""


async def trigger(client: Client, topic: str, data: bytes, output: str | None) -> bytes | None:
    """Send a message to an input. What is written to ``output`` for it; None without output.

    Raises TimedOut, InvalidValue where the topic's schema does not have such a message.
    """
    if output is None:
        await _send(client, topic, data)
        return None
    async with await client.create_reader(output, start=LATEST_MESSAGE) as reader:
        sent = await _send(client, topic, data)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await _answer(reader, TopicName.parse(topic), sent)
        except TimeoutError:
            raise TimedOut(
                f"nothing was written to {output} for the message within {TIMEOUT_S:g} s: look at "
                "the function's status, or at its log topic"
            ) from None


async def _send(client: Client, topic: str, data: bytes) -> MessageId:
    async with await client.create_producer(topic, schema=AutoProduceSchema()) as producer:
        return await producer.send(data)


async def _answer(reader: Reader[bytes], topic: TopicName, sent: MessageId) -> bytes:
    while True:
        message = await reader.receive()
        properties = message.properties
        made_from = properties.get(INPUT_ID)
        if made_from is None or properties.get(INPUT_TOPIC) not in _names(topic, sent):
            continue
        with suppress(ValueError, MagnetarError):  # Others may write there what they like.
            if parsed(base64.b64decode(made_from)).position == sent.position:
                return message.data


def _names(topic: TopicName, sent: MessageId) -> set[str]:
    """The topic, and the partition of it that the message went to."""
    return {str(topic)} | ({str(topic.partition(sent.partition))} if sent.partition >= 0 else set())
