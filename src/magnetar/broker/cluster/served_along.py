"""What a broker serves with its bundles, besides topics: coordinators of transactions."""

from typing import Protocol

from magnetar.model.bundles import Bundle


class ServedAlong(Protocol):
    """What else this broker serves with a bundle."""

    def lose(self, bundle: Bundle) -> None:
        """Answer nothing more: another broker may serve it."""

    async def close_bundle(self, bundle: Bundle) -> None:
        """Close what is of a bundle that is served here no more, before its topics."""

    async def close(self) -> None:
        """Close all of it."""
