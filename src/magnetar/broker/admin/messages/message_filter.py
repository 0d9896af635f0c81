"""Which messages are wanted: by key, by time, and by what they contain. Pure."""

from base64 import b64encode
from datetime import UTC, datetime

from magnetar.errors import InvalidValue
from magnetar.late_dataclass import dataclass

from .stored import StoredMessage


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """All that is said must hold; without anything every message is wanted.

    ``contains`` is looked for in the key, in the values of properties and in the payload; as
    ``name=value`` it also finds messages with that property. Times are those of publishing, in ms
    since the epoch: from ``since_ms`` on, before ``until_ms``.
    """

    key: str | None = None
    contains: str = ""
    properties: tuple[tuple[str, str], ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None

    def takes(self, message: StoredMessage) -> bool:
        published = message.publish_time_ms
        return (
            (self.key is None or self._has_key(message))
            and (self.since_ms is None or published >= self.since_ms)
            and (self.until_ms is None or published < self.until_ms)
            and all(message.properties.get(name) == value for name, value in self.properties)
            and (not self.contains or self._contained(message))
        )

    def may_be_in(self, data: bytes) -> bool:
        """Whether a message that fits can be among these bytes, not compressed."""
        return (
            (self.key is None or any(key in data for key in _written(self.key)))
            and all(each.encode() in data for pair in self.properties for each in pair)
            and (not self.contains or self._may_contain(data))
        )

    def _may_contain(self, data: bytes) -> bool:
        name, is_pair, value = self.contains.partition("=")
        if self.contains.encode() in data:
            return True
        return bool(is_pair) and name.encode() in data and value.encode() in data

    @property
    def everything(self) -> bool:
        return self == MessageFilter()

    def _has_key(self, message: StoredMessage) -> bool:
        if message.key == self.key:
            return True
        return message.key_b64 and message.key_bytes == (self.key or "").encode()

    def _contained(self, message: StoredMessage) -> bool:
        name, is_pair, value = self.contains.partition("=")
        if is_pair and message.properties.get(name) == value:
            return True
        texts = (message.key or "", *message.properties.values())
        return any(self.contains in text for text in texts) or (
            self.contains.encode() in message.data
        )


def _written(key: str) -> tuple[bytes, bytes]:
    """A key as text, and as the base64 of bytes."""
    return key.encode(), b64encode(key.encode())


def time_ms(text: str) -> int:
    """A point in time: ms since the epoch, or ISO's form, without a zone in UTC.

    Raises InvalidValue.
    """
    if text.isascii() and text.strip().isdigit() and len(text) < 20:
        return int(text)
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidValue(
            f"{text!r:.60} is no time: send milliseconds since the epoch, or ISO's form as "
            "2026-11-22T16:00:00Z"
        ) from None
    return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
