"""Settings that an administrator changes while the broker runs.

They are kept, and hold after the next start, too; what another broker of the cluster changes holds
here as well. As in Pulsar they stand over the configuration file, the environment and flags.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, TypeVar

from magnetar.errors import InvalidValue, MagnetarError, Refused
from magnetar.model.policies import Policies
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore
from magnetar.tasks import Tasks

from .config import Config
from .creation import Creation
from .policies import PolicyService
from .record_cache import JsonObjects
from .settings.log import LogSettings
from .settings.offload import OffloadSettings
from .settings.policies import PolicySettings
from .settings.pulsar import dynamic_keys, pulsar_keys
from .settings.rates import RateSettings
from .settings.setting import Setting, settings_of

log = logging.getLogger(__name__)

S = TypeVar("S")

_AT_START: Final = frozenset(
    {
        "brokerDeleteInactiveTopicsFrequencySeconds",
        "systemTopicSchemaCompatibilityStrategy",
        "topicLevelPoliciesEnabled",
        "systemTopicEnabled",
        "brokerPublisherThrottlingMaxMessageRate",
        "brokerPublisherThrottlingMaxByteRate",
        "dispatchThrottlingRateInMsg",
        "dispatchThrottlingRateInByte",
        "logFormat",
        "auditLogFile",
    }
)
"""Settings of the same sections that are read when the broker starts, and then no more."""
_LIVE: Final[Mapping[str, Setting]] = {
    one.key: one
    for section in (PolicySettings, RateSettings, LogSettings)
    for one in settings_of(section)
    if one.key not in _AT_START
}
_OURS: Final = "magnetar"
"""The logger of all that is Magnetar's."""
_SECRET: Final = ("secret", "password", "credential", "authenticationparameters", "tokenpublickey")
_SOURCE: Final = "dynamic configuration"


def broker_policies(
    policies: PolicySettings, rates: RateSettings, offload: OffloadSettings
) -> Policies:
    """The policies where no namespace sets any."""
    return replace(policies.policies(), **rates.policies().given(), offload=offload.policies())


class DynamicConfiguration:
    """Changes, keeps and shows them. ``policies`` are the settings that hold now.

    ``offload`` is a section that holds from start to end.
    """

    def __init__(
        self,
        config: Config,
        objects: JsonObjects,
        policies: PolicyService,
        creation: Creation,
        *,
        metadata: MetadataStore,
        tasks: Tasks,
    ) -> None:
        """Made in a running event loop."""
        self.policies = config.policies
        self.offload = config.offload
        self._config = config
        self._log = config.log
        self._log_changed = False  # Until then the process that runs the broker has its own level.
        self._objects = objects
        self._service = policies
        self._creation = creation
        self._tasks = tasks
        self._holding: Mapping[str, str] | None = None  # What was applied last.
        self._stale = False  # The record may have changed since it was read.
        self._applying: asyncio.Task[MagnetarError | None] | None = None
        self._watch = metadata.watch(paths.CONFIGURATION, self._noticed)

    def close(self) -> None:
        """Stop watching the metadata store."""
        self._watch.cancel()

    @cached_property
    def names(self) -> list[str]:
        """What can be changed; some of Pulsar's have no effect here."""
        return sorted({*_LIVE, *dynamic_keys()})

    async def load(self) -> None:
        """Let hold what was kept. What this version does not take any more is left out."""
        await self._apply()

    async def values(self) -> dict[str, str]:
        """What was changed, by key."""
        return await self._objects.get(paths.CONFIGURATION) or {}

    async def change(self, key: str, text: str) -> bool:
        """Change a setting. False: it is kept, and has no effect here. Raises Refused."""
        self._check(key, "update")
        if key in _LIVE:
            _LIVE[key].parse(text, _SOURCE)
        await self._objects.put(paths.CONFIGURATION, **{key: text})
        await self._apply()
        return key in _LIVE

    async def delete(self, key: str) -> None:
        """Let a setting be what the configuration says. Raises Refused."""
        self._check(key, "delete")
        await self._objects.put(paths.CONFIGURATION, **{key: None})
        await self._apply()

    async def set_log(self, settings: LogSettings) -> None:
        """Take a level of the log that the configuration says now."""
        self._log = settings
        await self._apply()

    async def runtime(self) -> dict[str, str]:
        """Every setting as it holds now, but for what is secret."""
        shown = {key: value for key, value, _, _ in self._config.rows()} | await self.values()
        return {key: _hidden(key, value) for key, value in shown.items()}

    def _check(self, key: str, verb: str) -> None:
        if key in self.names:
            return
        if any(key == each for each, *_ in self._config.rows()):
            why = f"{key} is read when the broker starts"
        elif key in pulsar_keys():
            why = f"this broker does nothing that {key} would change"
        else:
            why = f"there is no setting {key}"
        raise Refused(f"Can't {verb} non-dynamic configuration: {why}")

    def _noticed(self, _path: str) -> None:
        self._begin()

    def _begin(self) -> asyncio.Task[MagnetarError | None]:
        self._stale = True
        if self._applying is None:
            self._applying = self._tasks.spawn("dynamic configuration", self._apply_all())
        return self._applying

    async def _apply(self) -> None:
        """Let hold what is kept now. Raises what the metadata store raises."""
        error = await asyncio.shield(self._begin())
        if error is not None:
            raise error

    async def _apply_all(self) -> MagnetarError | None:
        """Apply one change at a time, so that what is read last is applied last."""
        failure: MagnetarError | None = None
        try:
            while self._stale:
                self._stale, failure = False, None
                try:
                    await self._apply_once()
                except MagnetarError as error:
                    log.warning("configuration.unreadable error=%s", error)
                    failure = error
        finally:
            self._applying = None
        return failure

    async def _apply_once(self) -> None:
        kept = await self.values()
        level = _over(self._log, kept).level
        if self._log is not self._config.log or level != self._log.level or self._log_changed:
            self._log_changed = True
            logging.getLogger(_OURS).setLevel(level.upper())
        if kept == self._holding:
            return
        self.policies = _over(self._config.policies, kept)
        self._creation.limit_partitions(self.policies.partitions_max)
        await self._service.set_broker(
            broker_policies(self.policies, _over(self._config.rates, kept), self.offload)
        )
        self._holding = kept


def _over(section: S, kept: Mapping[str, str]) -> S:
    """A section of the configuration with what was changed since."""
    found: dict[str, Any] = {}
    for one in settings_of(type(section)):
        if one.key in kept and one.key in _LIVE:
            try:
                found[one.name] = one.parse(kept[one.key], _SOURCE)
            except InvalidValue as error:
                log.warning("configuration.not_applied %s", error)
    return replace(section, **found)  # type: ignore[type-var]  # Sections are dataclasses.


def _hidden(key: str, value: str) -> str:
    secret = any(word in key.lower() for word in _SECRET) or value.startswith("data:")
    return "*****" if value and secret else value
