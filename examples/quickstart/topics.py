"""The topics of one run of the quickstart, and the one that is created with partitions."""

from contextlib import suppress
from typing import NamedTuple

from magnetar.client.admin_api import AdminApi, topic_path
from magnetar.errors import Conflict
from magnetar.model.names import TopicName


class QuickstartTopics(NamedTuple):
    """Topics whose names no other run has, so that a second run finds nothing of the first."""

    flights: TopicName
    results: TopicName
    cancelled: TopicName

    @staticmethod
    def named(prefix: str) -> "QuickstartTopics":
        """``prefix`` may begin with a namespace: ``tenant/namespace/name``. Raises InvalidName."""
        names = (f"{prefix}-flights", f"{prefix}-carrier-days", f"{prefix}-cancelled")
        return QuickstartTopics(*map(TopicName.parse, names))


def create_partitioned_topic(web_url: str, topic: TopicName, partitions: int) -> None:
    """Create ``topic``; it may be there already. Raises MagnetarError."""
    with suppress(Conflict):
        AdminApi(web_url).send("PUT", f"/admin/v2/{topic_path(str(topic))}/partitions", partitions)
