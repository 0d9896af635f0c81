"""The note that a topic is being deleted: ``{"version": 1, "topic": "persistent://..."}``. Pure.

Its path has the topic, too, and that is enough to finish the deletion.
"""

from magnetar.model.names import TopicName
from magnetar.storage.codec.json_object import encode


def encode_deletion(topic: TopicName) -> bytes:
    """Encode the note."""
    return encode({"topic": str(topic)})
