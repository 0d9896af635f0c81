"""Tells the topics and subscriptions of a transaction that it ends, wherever they are."""

from .transaction import Transaction


class TopicParticipants:
    """The topics of a cluster; none keeps anything of a transaction yet."""

    async def end(self, transaction: Transaction, low_watermark: int) -> None:
        """Commit or abort at all that took part; what has ended there is no error."""
