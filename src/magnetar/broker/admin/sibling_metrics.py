"""The metrics of several processes as one answer, in which each metric stands once.

What is said of a topic is said by the process that serves it. All else gets the number of its
process as a label: sums over that are for whoever asks, as means and quantiles have none.
"""

import logging
import re
from collections.abc import AsyncIterator, Iterable
from typing import Final

from magnetar.broker.admin.scrapes import Make
from magnetar.broker.cluster.brokers import Brokers
from magnetar.broker.peers import Peers
from magnetar.broker.threads import in_thread
from magnetar.errors import NotReady
from magnetar.late_dataclass import dataclass
from magnetar.model.broker_address import BrokerAddress
from magnetar.rest.exchange import Request

log = logging.getLogger(__name__)

PROCESS: Final = "process"
PATH: Final = "/metrics/"
_SAMPLE: Final = re.compile(r"([^\s{]+)(?:\{(.*)\})? (.*)", re.DOTALL)
_END: Final = "# EOF"


@dataclass(frozen=True, slots=True)
class SiblingMetrics:
    """Asks the other processes for theirs."""

    number: int
    brokers: Brokers
    peers: Peers

    async def of_this(self, make: Make) -> tuple[AsyncIterator[bytes], str]:
        """Those of this process, which ``make`` brings, labelled."""
        text, content_type = await self._made(make)
        return _piece(text), content_type

    async def of_all(self, make: Make, accept: str) -> tuple[AsyncIterator[bytes], str]:
        """Those of all processes that answer."""
        text, content_type = await self._made(make)
        others = [each for each in await self.brokers.all() if each != self.brokers.own]
        texts = [text, *[await self._of(each, accept) for each in others]]
        # It takes long where there are many topics.
        return _piece(await in_thread(merged, texts)), content_type

    async def _made(self, make: Make) -> tuple[str, str]:
        pieces, content_type = await make()
        text = b"".join([each async for each in pieces]).decode()
        return await in_thread(labelled, text, str(self.number)), content_type

    async def _of(self, broker: BrokerAddress, accept: str) -> str:
        try:
            answer = await self.peers.ask(broker, Request("GET", PATH, accept=accept))
        except NotReady as error:
            log.warning("metrics.of_one_missing broker=%s error=%s", broker.name, error)
            return ""
        return answer.body.decode() if answer.status == 200 else ""


def labelled(text: str, process: str) -> str:
    """An answer in which all that is not of a topic has the number of its process."""
    return "\n".join(_labelled(line, process) for line in text.split("\n"))


def _labelled(line: str, process: str) -> str:
    if not line or line[0] == "#":
        return line
    found = _SAMPLE.fullmatch(line)
    if found is None:
        return line
    name, labels, value = found.groups()
    if labels and (labels.startswith('topic="') or ',topic="' in labels):
        return line
    before = f"{labels}," if labels else ""
    return f'{name}{{{before}{PROCESS}="{process}"}} {value}'


def merged(texts: Iterable[str]) -> str:
    """Several answers as one: the samples of a metric stand together, below its head."""
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    end = ""
    for text in texts:
        metric, of_head = "", ""
        for line in text.split("\n"):
            if line == _END:
                end = f"{_END}\n"
            elif line.startswith("# "):
                metric = line.split(" ", 3)[2]
                if metric not in heads:
                    heads[metric], samples[metric], of_head = [], [], metric
                if of_head == metric:
                    heads[metric].append(line)
            elif line:
                samples.setdefault(metric, []).append(line)
    lines = (line for each in samples for line in (*heads.get(each, ()), *samples[each]))
    return "".join(f"{line}\n" for line in lines) + end


async def _piece(text: str) -> AsyncIterator[bytes]:
    yield text.encode()
