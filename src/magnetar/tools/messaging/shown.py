"""Messages as commands print them: Pulsar's lines, or JSON with the names of the browser."""

import json
from base64 import b64encode
from typing import Any, Final

from magnetar.client.message import Message
from magnetar.errors import UndecodableValue
from magnetar.model.position import MessageId
from magnetar.schemas.plain import plain
from magnetar.tools.output import printable

BOUNDARY: Final = "----- got message -----"


def id_json(message_id: MessageId) -> dict[str, int]:
    return {
        "ledgerId": message_id.ledger_id,
        "entryId": message_id.entry_id,
        "partitionIndex": message_id.partition,
        "batchIndex": message_id.batch_index,
    }


def line_of(value: Any) -> str:
    """JSON in one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def message_json(message: Message[Any]) -> str:
    """A message as one line of JSON."""
    value, problem = _value(message)
    ordering_key = message.ordering_key
    found = {
        "id": id_json(message.message_id),
        "topic": message.topic,
        "publishTime": message.publish_time_ms,
        "eventTime": message.event_time_ms,
        "producer": message.producer_name,
        "sequenceId": message.sequence_id,
        "key": message.key,
        "orderingKey": None if ordering_key is None else b64encode(ordering_key).decode(),
        "properties": message.properties,
        "redeliveryCount": message.redelivery_count,
        "size": len(message.data),
        "payload": b64encode(message.data).decode(),
        "value": value,
    }
    return line_of(found | ({"valueError": problem} if problem else {}))


def message_text(message: Message[Any], *, in_hex: bool) -> str:
    """A message as ``pulsar-client`` prints it, below the line that parts messages."""
    pairs = ", ".join(f"{name}={value}" for name, value in message.properties.items())
    key = "null" if message.key is None else message.key
    if in_hex:
        content = hex_dump(message.data)
    else:
        value, problem = _value(message)
        content = problem or (value if isinstance(value, str) else line_of(value))
    return f"{BOUNDARY}\n" + printable(f"key:[{key}], properties:[{pairs}], content:{content}")


def hex_dump(data: bytes) -> str:
    """Sixteen bytes a line, with their place and what of them is text."""
    lines = []
    for at in range(0, len(data), 16):
        part = data[at : at + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{at:08X} {part.hex(' ').upper():<47} {text}")
    return "\n".join(["", *lines])


def _value(message: Message[Any]) -> tuple[Any, str]:
    """The value as text, or why it cannot be shown."""
    if message.null_value:
        return None, ""
    try:
        value = message.value
    except UndecodableValue as error:
        return None, f"({error})"
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace"), ""
    return plain(value), ""
