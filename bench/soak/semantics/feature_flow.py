"""What every flow that uses a feature has."""

from typing import Any

from bench.soak.admin import Admin, Away, path_of
from bench.soak.flows import Flow
from bench.soak.official import OfficialFlow
from bench.soak.tally import Tally


class FeatureFlow(OfficialFlow):
    """``prepare`` sets policies before the load, ``finish`` looks once more after it."""

    def __init__(self, flow: Flow, url: str, web_url: str, tally: Tally, seed: int) -> None:
        super().__init__(flow, url, tally, seed)
        self.admin = Admin(web_url)

    def prepare(self) -> None:
        """Nothing, by default."""

    def finish(self) -> None:
        """Nothing, by default."""

    def set_policy(self, name: str, value: Any, query: str = "") -> None:
        """Raises Away."""
        for topic in self.flow.all_topics:
            self.admin.ask("PUT", path_of(topic))
            status, answer = self.admin.ask("POST", f"{path_of(topic)}/{name}{query}", value)
            if status not in range(200, 300):
                raise Away(f"{name} for {topic}: {status} {answer!r}")

    def complain(self, kind: str, what: str) -> None:
        self._tally.complaints.add(kind, f"{self.flow.name}: {what}")


class Nobody:
    """In the place of a consumer that is not there."""

    def close(self) -> None:
        """It is gone."""

    def consumer_name(self) -> str:
        return ""
