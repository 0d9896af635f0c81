"""Which non-persistent topics there are: those that are open. Pure."""

from magnetar.model.names import NamespaceName, TopicName


class OpenTopics:
    """The non-persistent topics that are open here; whoever opens and closes them says so."""

    def __init__(self) -> None:
        self._by_namespace: dict[NamespaceName, set[TopicName]] = {}

    def __contains__(self, topic: TopicName) -> bool:
        return topic in self._by_namespace.get(topic.namespace, ())

    def of(self, namespace: NamespaceName) -> list[TopicName]:
        """The topics of a namespace, sorted."""
        return sorted(self._by_namespace.get(namespace, ()), key=str)

    def add(self, topic: TopicName) -> None:
        self._by_namespace.setdefault(topic.namespace, set()).add(topic)

    def discard(self, topic: TopicName) -> None:
        here = self._by_namespace.get(topic.namespace, set())
        here.discard(topic)
        if not here:
            self._by_namespace.pop(topic.namespace, None)
