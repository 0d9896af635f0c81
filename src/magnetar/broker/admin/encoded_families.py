"""Families of metrics as text, of which most are the same at each scrape.

The library takes longer to write a family than to make it, and nine of ten have not changed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from magnetar.broker.admin.exposition import END

SMALL: Final = 100
"""Families with more samples, such as those that have one for each namespace, are not kept."""

Encode = Callable[[Collector], bytes]
Known = dict[str, tuple[Sequence[Sample], bytes]]
"""By the name of a family: its samples, and what was written of them."""


class _Alone(Collector):
    """A family, as a collector of the library."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        yield self._family


def encoded(families: Iterable[Metric], known: Known, encode: Encode) -> Iterator[bytes]:
    """The text of each family, without an end; what is as ``known`` is not written again."""
    for family in families:
        samples, text = known.get(family.name, ((), b""))
        if samples != family.samples:
            text = encode(_Alone(family)).removesuffix(END)
            if len(family.samples) <= SMALL:
                known[family.name] = family.samples, text
        yield text
