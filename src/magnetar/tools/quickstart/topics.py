"""The topics of one run of the quickstart, and the one that is created with partitions."""

import urllib.error
import urllib.request
from http import HTTPStatus
from typing import NamedTuple

from magnetar.errors import NotReady
from magnetar.model.names import TopicName

_TIMEOUT_S = 30.0


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
    """Create ``topic``; it may be there already. Raises NotReady when the broker refuses."""
    path = f"persistent/{topic.tenant}/{topic.namespace_local}/{topic.local}/partitions"
    request = urllib.request.Request(  # noqa: S310 - the user says whom to ask
        f"{web_url.rstrip('/')}/admin/v2/{path}",
        data=str(partitions).encode(),
        headers={"Content-Type": "application/json"},
        method="PUT",
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S):  # noqa: S310 - as above
            return
    except urllib.error.HTTPError as error:
        if error.code != HTTPStatus.CONFLICT:
            said = error.read().decode(errors="replace")[:300]
            raise NotReady(f"the broker would not create {topic}: {error} {said}") from error
    except urllib.error.URLError as error:
        raise NotReady(f"no admin API answers at {web_url}: {error.reason}") from error
