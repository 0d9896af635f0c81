"""The commands of the protocol by name, and one of them as bytes and back. Pure.

A BaseCommand is ``08 type``, then the one command it carries as the field of that same number. So
it is put around a serialised command by hand, and checked when it is taken off. Handlers name the
commands from here: nobody outside of ``wire`` and ``message`` knows where they were generated.
"""

from typing import Any

from google.protobuf.message import DecodeError, EncodeError, Message

from magnetar.errors import MalformedFrame
from magnetar.model.varint import varint
from magnetar.proto.PulsarApi_pb2 import *
from magnetar.proto.PulsarApi_pb2 import BaseCommand

_FIELDS = {
    number: BaseCommand.DESCRIPTOR.fields_by_number[number] for number in BaseCommand.Type.values()
}
_HEADS = {
    field.message_type: b"\x08" + varint(number) + varint(number << 3 | 2)
    for number, field in _FIELDS.items()
}


def serialize(command: Message) -> bytes:
    """``command``, such as a CommandSuccess, as a BaseCommand."""
    data = command.SerializeToString()
    return b"%b%b%b" % (_HEADS[command.DESCRIPTOR], varint(len(data)), data)


def parse(data: bytes) -> BaseCommand:
    """The BaseCommand: of a known type, with the command of that type and all it requires."""
    try:
        command = BaseCommand.FromString(data)
        # Parsing does not miss required fields; this does, says which, and is the quickest to.
        command.SerializeToString()
    except DecodeError as error:
        raise MalformedFrame("a command that is not protobuf") from error
    except EncodeError as error:
        raise MalformedFrame(f"{error} (or one has a value unknown here)") from error
    field = _FIELDS[command.type]
    if not command.HasField(field.name):
        kind = BaseCommand.Type.Name(command.type)
        raise MalformedFrame(f"a {kind} without its field {field.name}")
    if command.type in _WITH_TEXT:
        _check_text(getattr(command, field.name))
    return command


def _has_text(kind: Any) -> bool:  # Any: protobuf's own type of it has no name to import
    return any(
        field.type == field.TYPE_STRING
        # A message may hold one of its own kind: an id does, and has no text.
        or (field.message_type not in {None, kind} and _has_text(field.message_type))
        for field in kind.fields
    )


# Acknowledgements are frequent, and nobody reads the text they may carry.
_WITH_TEXT = {
    number
    for number, field in _FIELDS.items()
    if number != BaseCommand.ACK and _has_text(field.message_type)
}


def _check_text(message: Message) -> None:
    """Text that is not UTF-8 would come out as bytes where everybody expects a str."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            texts = (value,) if isinstance(value, str | bytes) else value
            if any(isinstance(text, bytes) for text in texts):
                raise MalformedFrame(f"text that is not UTF-8 in {field.full_name}")
        elif field.type == field.TYPE_MESSAGE:
            for inner in (value,) if isinstance(value, Message) else value:
                _check_text(inner)
