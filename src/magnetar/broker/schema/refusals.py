"""Clients whose schema did not fit: the last of each topic, for whoever asks why nothing comes."""

from typing import Final

from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaRefusal

TOPICS_MAX: Final = 1_000
"""Topics of which a refusal is remembered; the one that was refused longest ago is forgotten."""


class SchemaRefusals:
    """There is one in a broker."""

    def __init__(self) -> None:
        self._last: dict[TopicName, SchemaRefusal] = {}

    def note(self, topic: TopicName, client: str, reason: str, now_ms: int) -> None:
        before = self._last.pop(topic, None)
        count = 1 if before is None else before.count + 1
        self._last[topic] = SchemaRefusal(client, reason, now_ms, count)
        if len(self._last) > TOPICS_MAX:
            del self._last[next(iter(self._last))]

    def last(self, topic: TopicName) -> SchemaRefusal | None:
        return self._last.get(topic)
