"""Which bundles this broker serves: those that somebody looked up.

A lookup over either protocol takes the bundle, and so does an administrator's request for a topic.
A client that comes without a lookup is told to do one first, as in Pulsar. This broker is alone in
its cluster: nobody else can own a bundle, so taking one never fails.
"""

from collections.abc import Iterable

from magnetar.broker.resources import Resources
from magnetar.errors import NotOwner
from magnetar.model.names import TopicName


class Ownership:
    """The bundles of the only broker of a cluster."""

    def __init__(self, resources: Resources, *, address: str) -> None:
        """``address`` is how refused clients know this broker: ``host:web_port``."""
        self._resources = resources
        self._address = address
        self._taken: set[str] = set()

    async def take(self, topic: TopicName) -> None:
        """Serve the topic's bundle from now on. Its namespace must exist."""
        self._taken.add(await self._bundle_of(topic))

    async def check(self, topic: TopicName) -> None:
        """Raise NotOwner unless the topic's bundle is served here."""
        bundle = await self._bundle_of(topic)
        if bundle not in self._taken:
            raise NotOwner(
                f"Namespace bundle ({bundle}) for topic ({topic}) not served by this "
                f"instance:{self._address}. Please redo the lookup."
            )

    def owns(self, bundle: str) -> bool:
        """Whether a bundle, ``tenant/namespace/0x00000000_0x40000000``, is served here."""
        return bundle in self._taken

    @property
    def bundles(self) -> list[str]:
        """The bundles that are served here, sorted."""
        return sorted(self._taken)

    def release(self, bundles: Iterable[str]) -> None:
        """Serve these no more, until somebody looks up one of their topics again."""
        self._taken.difference_update(bundles)

    def split(self, bundle: str, parts: Iterable[str]) -> None:
        """Serve the parts of a bundle instead, if it is served here."""
        if bundle in self._taken:
            self._taken.remove(bundle)
            self._taken.update(parts)

    async def _bundle_of(self, topic: TopicName) -> str:
        return f"{topic.namespace}/{await self._resources.bundle(topic)}"
