"""A functions worker, as its API asks: Pulsar's rules and words."""

import asyncio
import logging
import re
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit
from weakref import WeakValueDictionary

from magnetar.broker.admin.routes.functions import PACKAGE_BYTES_MAX
from magnetar.client.client import Client
from magnetar.client.consumers.topics_pattern import TopicsPattern
from magnetar.clock import Clock
from magnetar.errors import InvalidValue, MagnetarError
from magnetar.functions.config import FunctionConfig
from magnetar.functions.config_checks import check
from magnetar.functions.worker.admin import Admin
from magnetar.functions.worker.cluster import WorkerCluster
from magnetar.functions.worker.metadata import FunctionMetaData, updated
from magnetar.functions.worker.multipart import Part
from magnetar.functions.worker.package_check import check_package
from magnetar.functions.worker.packages import Packages
from magnetar.functions.worker.status import LATEST
from magnetar.functions.worker.supervisor import Supervisor
from magnetar.functions.worker.trigger import trigger
from magnetar.model.subscriptions import RegexSubscriptionMode
from magnetar.rest.errors import Rejection

log = logging.getLogger(__name__)

_SCHEMES: Final = ("http", "https", "file")
_DOWNLOAD_TIMEOUT_S: Final = 60.0
FILE_NAME_BYTES_MAX: Final = 200
"""The longest name of a package: file systems take 255, and the cache adds to it."""
_READY_TIMEOUT_S: Final = 60.0  # Spark itself may have to start.
_READY_LOOK_S: Final = 0.1


class FunctionsWorker:
    """One of the workers of a cluster, or of a broker that is alone.

    Refusals are raised as Rejection, as Pulsar's.
    """

    def __init__(
        self,
        *,
        client: Client,
        admin: Admin,
        cluster: WorkerCluster,
        packages: Packages,
        supervisor: Supervisor,
        clock: Clock,
    ) -> None:
        self._client = client
        self._admin = admin
        self._cluster = cluster
        self._supervisor = supervisor
        self._clock = clock
        self.packages = packages
        self._changing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._needed: Counter[str] = Counter()  # Packages of changes that are under way.
        self._keeping = asyncio.Lock()  # Nobody removes a package while another looks for it.

    async def finish_deletions(self) -> None:
        """Go on with what a leader before this one began."""
        for record in [each for each in self._cluster.functions.values() if each.deleted]:
            try:
                await self._finish_deletion(record)
            except MagnetarError as error:
                log.warning("function.not_deleted %s %s", record.config.fqfn, error)

    def look_at(self, fqfn: str) -> None:
        """Run a function, or run it no more, where it has changed, or its worker."""
        record = self._cluster.functions.get(fqfn)
        own = self._cluster.runners.get(fqfn) == self._cluster.own.id
        if own and record is not None and not record.deleted:
            self._supervisor.put(record)
        else:
            self._supervisor.drop(fqfn)

    async def settled(self, fqfn: str) -> bool:
        """Return when nothing runs here of how a function was; after a while False, if it does."""
        await self._cluster.refresh()
        return await self._supervisor.settle(fqfn)

    def names(self, tenant: str, namespace: str) -> list[str]:
        """The functions of a namespace."""
        return [
            record.config.name
            for record in self._cluster.functions.values()
            if (record.config.tenant, record.config.namespace) == (tenant, namespace)
            and not record.deleted
        ]

    def all(self) -> list[FunctionMetaData]:
        """Every function."""
        return [record for record in self._cluster.functions.values() if not record.deleted]

    def get(self, fqfn: str, *, missing: int = 404) -> FunctionMetaData:
        """A function. Raises Rejection with the status ``missing``."""
        record = self._cluster.functions.get(fqfn)
        if record is None or record.deleted:
            raise Rejection(missing, f"Function {fqfn.rpartition('/')[2]} doesn't exist")
        return record

    def status(self, fqfn: str) -> dict[str, Any]:
        self.get(fqfn)
        return self._supervisor.status(fqfn)

    def stats(self, fqfn: str) -> dict[str, Any]:
        self.get(fqfn)
        return self._supervisor.stats(fqfn)

    def metrics(self) -> list[dict[str, Any]]:
        """The stats of every instance."""
        return self._supervisor.metrics()

    async def create(self, fqfn: str, given: Mapping[str, Any], package: Part) -> None:
        """Store a new function and start it, when everything that it needs is there."""
        async with self._change(fqfn):
            config = _parsed(fqfn, given)
            there = self._cluster.functions.get(fqfn)
            if there is not None and there.deleted:  # Which had failed.
                await self._finish_deletion(there)
            elif there is not None:
                raise Rejection(400, f"Function {fqfn.rpartition('/')[2]} already exists")
            absent = await self._admin.exists(config.tenant, config.namespace)
            if absent is not None:
                raise Rejection(400, absent)
            async with self._kept(config, package) as kept:
                now = self._clock.wall_ms()
                await self._put(
                    FunctionMetaData(config, kept, file_name=package.file_name, created_ms=now)
                )
        await self._settle(fqfn)

    async def update(self, fqfn: str, given: Mapping[str, Any], package: Part | None) -> None:
        """Change a function; it goes on where it is, with what is new."""
        async with self._change(fqfn):
            before = await self._updated(fqfn, given, package)
        await self._settle(fqfn)
        await self._drop_package(before)

    async def _updated(self, fqfn: str, given: Mapping[str, Any], package: Part | None) -> str:
        """Change a function. Returns the name of the package that it had."""
        record = self.get(fqfn, missing=400)
        try:
            config = updated(record.config, {**_named(fqfn), **given, **_named(fqfn)})
            check(config)
        except InvalidValue as error:
            raise Rejection(400, str(error)) from error
        if package is None:
            if config == record.config:
                raise Rejection(400, "Update contains no change")
            code = await self.packages.file(record.package, record.file_name)
            await _check_code(code, config)
            await self._put(record.changed(config=config))
            return record.package
        async with self._kept(config, package) as kept:
            if (config, kept) == (record.config, record.package):
                raise Rejection(400, "Update contains no change")
            file_name = package.file_name
            await self._put(record.changed(config=config, package=kept, file_name=file_name))
        return record.package

    async def delete(self, fqfn: str) -> None:
        """End a function, and remove what it had; again where that has failed."""
        async with self._change(fqfn):
            record = self._cluster.functions.get(fqfn)
            if record is None or not record.deleted:
                record = self.get(fqfn).changed(deleted=True, running=False)
                await self._cluster.put(record)
            await self._finish_deletion(record)

    async def turn(self, fqfn: str, instance: int | None, *, running: bool) -> None:
        """Start or stop a function."""
        async with self._change(fqfn):
            record = self.get(fqfn)
            self._check_whole(record, instance)
            if record.running == running:
                raise Rejection(400, "Operation not permitted")
            await self._put(record.changed(running=running))
        await self._settle(fqfn)

    async def restart(self, fqfn: str, instance: int | None) -> None:
        """Start a function anew, where it is."""
        self._check_whole(self.get(fqfn), instance)
        self._supervisor.restart(fqfn)
        await self._supervisor.settle(fqfn)

    async def trigger(self, fqfn: str, data: bytes, topic: str | None) -> bytes | None:
        """Have a function process one message. Its answer, if it has an output."""
        record = self.get(fqfn)
        config = record.config
        if topic is None and len(config.input_specs) != 1:
            raise Rejection(400, "Function in trigger function has more than 1 input topics")
        where = topic or next(iter(config.input_specs))
        if where not in config.input_topics:
            raise Rejection(400, "Function in trigger function has unidentified topic")
        if not record.running:
            raise Rejection(400, "Function in trigger function is not ready: start it first")
        if not await self._reads(config, where):
            raise Rejection(
                400, "Function in trigger function is not ready: its status says when it runs"
            )

        def exceptions() -> list[Mapping[str, Any]]:
            found = self._supervisor.status(fqfn)["instances"]
            of_all = [one["status"] for one in found]
            return [one for each in of_all for kind in LATEST for one in each[kind]]

        try:
            return await trigger(self._client, where, data, config.output, exceptions)
        except TimeoutError as error:
            raise Rejection(408, f"Request Timed Out: {error}") from error
        except InvalidValue as error:
            raise Rejection(
                400,
                f"Failed to serialize input with error: {error}. Please check if input data "
                "conforms with the schema of the input topic.",
            ) from error

    async def _reads(self, config: FunctionConfig, topic: str) -> bool:
        """Whether a function has subscribed to an input. One that is starting is waited for."""
        end = self._clock.now() + _READY_TIMEOUT_S
        while not await self._admin.subscribed(topic, config.subscription):
            if self._clock.now() > end or not self.get(config.fqfn).running:
                return False
            await self._clock.sleep(_READY_LOOK_S)
        return True

    async def state_changed(self, fqfn: str) -> None:
        """Have a function see what was put into its state: a single instance reads it once."""
        if self.get(fqfn).config.parallelism == 1:
            await self.restart(fqfn, None)

    async def code(self, fqfn: str) -> bytes:
        """The package of a function."""
        return await self.packages.read(self.get(fqfn).package)

    async def _put(self, record: FunctionMetaData) -> None:
        await self._cluster.put(record)
        if record.config.fqfn not in self._cluster.runners:
            await self._cluster.place()

    async def _settle(self, fqfn: str) -> None:
        """Return when nothing runs of how a function was, or after a while."""
        try:
            await self._cluster.settle(fqfn, await self._cluster.runner(fqfn))
        except MagnetarError as error:
            log.warning("function.not_settled %s %s", fqfn, error)

    @asynccontextmanager
    async def _change(self, fqfn: str) -> AsyncIterator[None]:
        """One change of a function at a time: each sees what the one before it has done."""
        async with self._changing.setdefault(fqfn, asyncio.Lock()):
            yield

    @asynccontextmanager
    async def _kept(self, config: FunctionConfig, package: Part) -> AsyncIterator[str]:
        """Store a package that can run, which stays until the block ends: its name."""
        async with self._keeping:
            name = await self.packages.keep(package.data)
            self._needed[name] += 1
        try:
            await _check_code(await self.packages.file(name, package.file_name), config)
            yield name
        finally:
            self._needed[name] -= 1
            await self._drop_package(name)

    async def _finish_deletion(self, record: FunctionMetaData) -> None:
        config = record.config
        await self._cluster.settle(config.fqfn, await self._cluster.runner(config.fqfn))
        if config.cleanup_subscription:
            for topic in await self._topics(config):
                await self._admin.delete_subscription(topic, config.subscription)
        await self._admin.delete_topic(config.state_topic)
        await self._drop_package(record.package)
        await self._cluster.forget(config.fqfn)

    async def _topics(self, config: FunctionConfig) -> list[str]:
        """The topics that a function has read from."""
        found = list(config.input_topics)
        for text in config.topics_patterns:
            pattern = TopicsPattern.of(re.compile(text), RegexSubscriptionMode.PERSISTENT_ONLY)
            named = await self._client.topics(str(pattern.namespace))
            found += [topic for topic in named if pattern.matches(topic)]
        return found

    async def _drop_package(self, name: str) -> None:
        """Remove a package that no function needs."""
        async with self._keeping:
            if self._needed[name]:
                return
            del self._needed[name]
            records = self._cluster.functions.values()
            if all(record.deleted or record.package != name for record in records):
                await self.packages.delete(name)

    def _check_whole(self, record: FunctionMetaData, instance: int | None) -> None:
        """Instances of a function are tasks of one query: they start and stop together."""
        count = record.config.parallelism
        if instance is None:
            return
        if not 0 <= instance < count:
            raise Rejection(400, "Operation not permitted")
        if count > 1:
            raise Rejection(
                400,
                f"Operation not permitted: the {count} instances of {record.config.name} run in "
                "one Spark query; start, stop or restart the function",
            )


async def package_from(url: str) -> Part:
    """The file that a URL names. Raises Rejection."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in _SCHEMES:
            raise Rejection(400, _BAD_URL)
        data = await asyncio.to_thread(_downloaded, url)
    except (OSError, ValueError, HTTPException) as error:
        raise Rejection(400, f"{_BAD_URL}: {url}: {error}") from error
    if len(data) > PACKAGE_BYTES_MAX:
        raise Rejection(413, f"{url} has more than {PACKAGE_BYTES_MAX} bytes")
    return Part(data, file_name_of(unquote(parts.path)))


def file_name_of(path: str) -> str:
    """The file name of a package on the worker's disk. Raises Rejection for an invalid one."""
    name = path.replace("\\", "/").rpartition("/")[2] if path else "function.py"
    if name in ("", ".", "..") or not name.isprintable():
        raise Rejection(400, f"the package is called {name[:99]!r}: give it the name of a file")
    if len(name.encode()) > FILE_NAME_BYTES_MAX:
        raise Rejection(400, f"the package's name has more than {FILE_NAME_BYTES_MAX} bytes")
    return name


_BAD_URL: Final = "Function Package url is not valid.supported url (http/https/file)"


def _downloaded(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=_DOWNLOAD_TIMEOUT_S) as answer:  # noqa: S310 - checked
        data: bytes = answer.read(PACKAGE_BYTES_MAX + 1)
    return data


def _named(fqfn: str) -> dict[str, str]:
    return dict(zip(("tenant", "namespace", "name"), fqfn.split("/"), strict=True))


def _parsed(fqfn: str, given: Mapping[str, Any]) -> FunctionConfig:
    """A configuration under the name of the path. Raises Rejection."""
    try:
        config = FunctionConfig.parse({**given, "fqfn": None, **_named(fqfn)})
        check(config)
    except InvalidValue as error:
        raise Rejection(400, str(error)) from error
    return config


async def _check_code(file: Path, config: FunctionConfig) -> None:
    try:
        await check_package(file, config.class_name)
    except InvalidValue as error:
        raise Rejection(400, str(error)) from error
