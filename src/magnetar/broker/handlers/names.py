"""Topic names in commands."""

from magnetar.errors import InvalidName
from magnetar.model.names import TopicName


def topic_name(text: str) -> TopicName:
    """The topic a command names. Raises InvalidName with the text that clients know."""
    try:
        return TopicName.parse(text)
    except InvalidName as error:
        raise InvalidName(f"Invalid topic name: {error}") from None
