"""Topic names as they come in commands."""

from typing import Final

from magnetar.errors import InvalidName
from magnetar.model.names import TopicName

TOPIC_NAME_LENGTH_MAX: Final = 1024  # Names are remembered, logged and stored.


def topic_name(text: str) -> TopicName:
    """The topic a command names. Raises InvalidName with the text that clients know."""
    if len(text) > TOPIC_NAME_LENGTH_MAX:
        raise InvalidName(
            f"Invalid topic name: {len(text)} characters, at most {TOPIC_NAME_LENGTH_MAX} are taken"
        )
    try:
        return TopicName.parse(text)
    except InvalidName as error:
        raise InvalidName(f"Invalid topic name: {error}") from None
