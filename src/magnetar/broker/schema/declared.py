"""Which schemas producers and consumers may declare: none, or bytes as they are."""

from typing import Final

from magnetar.errors import NotAllowed
from magnetar.model.names import TopicName
from magnetar.wire.commands import Schema

_NO_SCHEMA: Final = 0  # Schema.Type None, which also stands for bytes.
_AUTO_CONSUME: Final = 21  # "Whatever the topic has": fits a topic without a schema.


def check_schema(schema: Schema, topic: TopicName) -> None:
    """Raise NotAllowed for a schema that would have to be kept and compared."""
    if schema.type not in (_NO_SCHEMA, _AUTO_CONSUME):
        raise NotAllowed(
            f"Schemas are not supported by this broker: use bytes for {topic}, and encode and "
            "decode them in the application"
        )
