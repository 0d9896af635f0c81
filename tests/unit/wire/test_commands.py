"""wire/commands.py: a command as bytes, and back."""

import pytest

from magnetar.errors import MalformedFrame
from magnetar.wire.commands import (
    BaseCommand,
    CommandFlow,
    CommandLookupTopic,
    CommandPing,
    parse,
    serialize,
)


@pytest.mark.parametrize("name", BaseCommand.Type.keys())
def test_every_kind_of_command_is_wrapped_as_protobuf_would(name):
    number = BaseCommand.Type.Value(name)
    field = BaseCommand.DESCRIPTOR.fields_by_number[number]
    envelope = BaseCommand(type=number)
    inner = getattr(envelope, field.name)
    inner.SetInParent()
    fill(inner)
    assert serialize(inner) == envelope.SerializeToString()
    assert parse(serialize(inner)) == envelope


def fill(message):
    """Set what is required, with the least there is to say."""
    for field in message.DESCRIPTOR.fields:
        if field.is_required:
            if field.type == field.TYPE_MESSAGE:
                fill(getattr(message, field.name))
            else:
                setattr(message, field.name, field.default_value)
    message.SetInParent()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff" * 8, "not protobuf"),
        (b"", "required fields: type"),
        (b"\x08\x63", "required fields: type"),
        (b"\x08\x12", "a PING without its field ping"),
        (b"\x08\x15\xba\x01\x05\x0a\x01x\x10\x01", "a PARTITIONED_METADATA without its field"),
        (b"\x08\x17\xba\x01\x00", "required fields: lookupTopic.topic,lookupTopic.request_id"),
    ],
)
def test_what_is_no_command_is_refused_with_a_reason(data, reason):
    with pytest.raises(MalformedFrame, match=reason):
        parse(data)


def test_an_unknown_value_of_a_required_enum_is_refused():
    data = b"\x08\x0a\x52\x04\x08\x01\x10\x09"  # ACK of type 9
    with pytest.raises(MalformedFrame, match="ack_type"):
        parse(data)


def test_unknown_fields_and_other_commands_are_no_matter():
    extra = serialize(CommandPing()) + serialize(CommandFlow(consumer_id=1, messagePermits=2))[2:]
    assert parse(extra + b"\xf8\x3f\x01").type == BaseCommand.PING


def test_a_command_that_is_incomplete_is_not_sent():
    with pytest.raises(Exception, match="topic"):
        serialize(CommandLookupTopic(request_id=1))
