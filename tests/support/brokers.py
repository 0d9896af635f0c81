"""Brokers in the loop of a test with small limits, also those that have no key."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from types import MappingProxyType

from magnetar.broker.assemble.broker import running_broker
from magnetar.broker.broker import Broker
from magnetar.clock import SystemClock
from magnetar.testing.local_broker import NOTHING_SET, config_for

NONE: Mapping[str, int] = MappingProxyType({})


@asynccontextmanager
async def limited_broker(
    *,
    settings: Mapping[str, object] = NOTHING_SET,
    topics: Mapping[str, int] = NONE,
    connections: Mapping[str, int] = NONE,
) -> AsyncIterator[Broker]:
    """``settings`` are by Pulsar's names, ``topics`` and ``connections`` by those of fields."""
    config = config_for(None, {"webServicePort": -1, **settings})
    limited = replace(
        config,
        topics=replace(config.topics, **topics),
        connections=replace(config.connections, **connections),
    )
    async with running_broker(limited, clock=SystemClock()) as broker:
        yield broker
