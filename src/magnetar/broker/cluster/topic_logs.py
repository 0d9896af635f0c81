"""The logs of topics: how each is found and opened, by the policies of its topic."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from magnetar.model.counts import LogCounts
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.policies import Policies
from magnetar.model.policy_values import PersistencePolicies, RetentionPolicies
from magnetar.storage.ledger.store import LedgerWriter
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.storage.managed_ledger.managed_ledger_factory import (
    NOTHING_FOUND,
    FoundLog,
    ManagedLedgerFactory,
)
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings, ledger_options
from magnetar.storage.metadata import paths


class _Begun(NamedTuple):
    """What is done for a topic that comes, before it can be opened."""

    writer: asyncio.Task[LedgerWriter]
    found: asyncio.Task[FoundLog]
    """What the broker has stored of its log that has it still."""


class TopicLogs:
    """Opens them. ``begins_early``: ledgers are far away, so that nobody should wait for them."""

    def __init__(
        self,
        factory: ManagedLedgerFactory,
        counts_of: Callable[[NamespaceName], LogCounts | None] = lambda _: None,
        *,
        begins_early: bool = False,
    ) -> None:
        self.begins_early = begins_early
        self._factory = factory
        self._counts_of = counts_of
        self._begun: dict[TopicName, _Begun] = {}  # Of topics to be opened.

        @lru_cache  # Logs of the same policies share their settings.
        def settings_with(
            retention: RetentionPolicies | None, persistence: PersistencePolicies | None
        ) -> ManagedLedgerSettings:
            kept = retention or RetentionPolicies()
            return replace(
                factory.settings,
                retention_time_s=kept.time_s,
                retention_size_bytes=kept.size_bytes,
                ledger_options=ledger_options(persistence),
            )

        self._settings_with = settings_with

    async def find(self, topic: TopicName) -> FoundLog:
        """What is stored of a topic's log, which is ours to open."""
        begun, before = self._begun.get(topic), NOTHING_FOUND
        if begun is not None and begun.found.done() and not begun.found.cancelled():
            before = begun.found.result()
        return await self._factory.find(paths.managed_ledger_name(topic), before)

    @contextlib.contextmanager
    def begun(self, topic: TopicName, policies: Policies) -> Iterator[None]:
        """Begin the ledger that a topic is to append to, before the topic can be opened.

        It is deleted where nobody opens the topic meanwhile. What is stored is looked at, too.
        """
        if topic in self._begun:
            yield
            return
        found = self._factory.find_soon(paths.managed_ledger_name(topic))
        begun = self._begun[topic] = _Begun(self._begin(topic, policies), found)
        try:
            yield
        finally:
            if self._begun.get(topic) is begun:
                del self._begun[topic]
                self._factory.abandon(begun.writer)

    async def open(
        self,
        topic: TopicName,
        policies: Policies,
        found: FoundLog | None = None,
        *,
        writes: bool = False,
    ) -> ManagedLedger:
        """Take a topic's log over, or create it, as ``ManagedLedgerFactory.open`` says.

        ``writes``: something is going to be appended, at once.
        """
        coming = self._begun.pop(topic, None)  # Whoever opens the topic: somebody is to append.
        begun = None if coming is None else coming.writer
        if begun is None and writes:
            begun = self._begin(topic, policies)
        return await self._factory.open(
            paths.managed_ledger_name(topic),
            self._settings_with(policies.retention, policies.persistence),
            self._counts_of(topic.namespace),
            found=found,
            begun=begun,
        )

    def _begin(self, topic: TopicName, policies: Policies) -> asyncio.Task[LedgerWriter]:
        options = ledger_options(policies.persistence)
        return self._factory.begin(paths.managed_ledger_name(topic), options)
