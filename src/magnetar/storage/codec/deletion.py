"""The note that a topic is being deleted: ``{"version": 1, "topic": "persistent://..."}``. Pure.

Its path says it all, and is enough for whoever finishes the deletion.
"""

from magnetar.model.names import TopicName
from magnetar.storage.codec.json_object import encode


def encode_deletion(topic: TopicName) -> bytes:
    """The bytes of the note."""
    return encode({"topic": str(topic)})
