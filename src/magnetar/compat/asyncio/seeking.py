"""How a consumer and a reader of ``pulsar.asyncio`` go to another place."""

from typing import Any

from magnetar.client.consumers.receiver import Receiver
from magnetar.compat.consumer import place
from magnetar.compat.message_id import MessageId


async def seek(receiver: Receiver[Any], messageid: MessageId | int, *, inclusive: bool) -> None:
    """Go behind a message, to it where ``inclusive``, or to a time in milliseconds."""
    if isinstance(messageid, MessageId):
        await receiver.seek(place(messageid), inclusive=inclusive)
    elif isinstance(messageid, int):
        await receiver.seek_time(messageid)
    else:
        raise ValueError(f"invalid messageid type {type(messageid)}")
