"""What is kept from one request for metrics to the next. Pure."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from magnetar.model.position import Position


@dataclass(slots=True)
class KeptAnswer:
    """An answer, and when it was made."""

    made_at: float
    content_type: str
    body: bytes


@dataclass(slots=True)
class Scrapes:
    """The oldest messages that were looked up, and answers, where they are kept."""

    # By topic and subscription: its mark, and when the first message behind that was published.
    oldest: dict[tuple[str, str], tuple[Position, int]] = field(default_factory=dict)
    kept: dict[bool, KeptAnswer] = field(default_factory=dict)
    """By whether it is OpenMetrics."""

    async def keep(
        self, made_at: float, content_type: str, pieces: AsyncIterator[bytes]
    ) -> KeptAnswer:
        """Keep an answer for who asks later."""
        body = b"".join([piece async for piece in pieces])
        answer = KeptAnswer(made_at, content_type, body)
        self.kept["openmetrics" in content_type] = answer
        return answer
