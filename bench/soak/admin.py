"""Administrators' requests, one connection each; what fails while the broker is away says so."""

import http.client
import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote

from .flows import NAMESPACE

TIMEOUT_S = 10


class Away(Exception):
    """No answer: the broker is not there, or was killed meanwhile."""


class Admin:
    """Status and body of each answer."""

    def __init__(self, web_url: str) -> None:
        self._base = f"{web_url}/admin/v2"

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Raises Away."""
        request = urllib.request.Request(
            self._base + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text[:1] in b'[{"' and text else text
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except (OSError, http.client.HTTPException) as error:
            raise Away(f"{method} {path}: {error}") from error

    def backlog(self, topic: str) -> int:
        """Entries that durable subscriptions still have to acknowledge. Raises Away."""
        status, stats = self.ask("GET", f"{path_of(topic)}/stats")
        if status != 200:
            raise Away(f"{topic}: {status} {stats!r}")
        return sum(
            each["msgBacklog"] for each in stats["subscriptions"].values() if each["durable"]
        )

    def topics(self) -> list[str]:
        """All that the namespace has, partitions one by one. Raises Away."""
        status, topics = self.ask("GET", f"/persistent/{NAMESPACE}")
        if status != 200:
            raise Away(f"list of topics: {status}")
        return list(topics)

    def delete(self, topic: str, *, partitioned: bool = False) -> int:
        """Its status; 404 where it is gone already. Raises Away."""
        path = f"{path_of(topic)}/partitions" if partitioned else path_of(topic)
        return self.ask("DELETE", f"{path}?force=true")[0]


def path_of(topic: str) -> str:
    domain = topic.partition("://")[0]
    return f"/{domain}/{NAMESPACE}/{quote(topic.rpartition('/')[2], safe='')}"
