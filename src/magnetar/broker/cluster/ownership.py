"""Which bundles this broker serves: those that somebody looked up.

A lookup over either protocol takes the bundle, and so does an administrator's request for a topic.
A client that comes without a lookup is told to do one first, as in Pulsar. This broker is alone in
its cluster: nobody else can own a bundle, so taking one never fails.
"""

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

    async def _bundle_of(self, topic: TopicName) -> str:
        return f"{topic.namespace}/{await self._resources.bundle(topic)}"
