"""A simulated cluster: ZooKeeper, bookies, brokers and clients, as a function of a seed.

cluster = SimulatedCluster(Random(seed), brokers=3, bookies=4)
cluster.run(work(cluster))    # ``work`` is a coroutine of the world around the processes.
"""

import asyncio
import gc
import warnings
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import Context
from random import Random
from types import MappingProxyType
from typing import Any, Final, TypeVar
from unittest.mock import patch

from magnetar.broker.assemble.new_cluster import initialize_cluster
from magnetar.broker.config import Config
from magnetar.client.client import Client
from magnetar.storage.codec.codec import Codec
from magnetar.storage.codec.pulsar_codec import PulsarCodec
from magnetar.storage.metadata.store import MetadataStore
from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore, ZooKeeperSettings

from .bucket import Bucket
from .loop import BEGIN_S, SimulatedLoop
from .machine import simulated_machine
from .network import Network
from .processes import Process
from .servers import BookieServer, BrokerServer, Server, ZooKeeperServer
from .zookeeper import Ensemble

T = TypeVar("T")

ZOOKEEPER_PORT: Final = 2181
BROKER_PORT: Final = 6650
NOTHING_SET: Final[Mapping[str, object]] = MappingProxyType({})


class SimulatedCluster:
    """All processes of one cluster, and the network between them."""

    codec: Codec = PulsarCodec()

    def __init__(
        self,
        random: Random,
        *,
        brokers: int = 3,
        bookies: int = 4,
        settings: Mapping[str, object] = NOTHING_SET,
        name: str = "",
        beside: "SimulatedCluster | None" = None,
    ) -> None:
        """``settings`` are those of the brokers, by Pulsar's names.

        One with a ``name`` is one of several, whose servers have it before theirs; all but the
        first are ``beside`` that one, which runs them all.
        """
        self.name = name
        self.loop: SimulatedLoop = SimulatedLoop() if beside is None else beside.loop
        self.story: list[str] = [] if beside is None else beside.story
        network = Network(self.loop, self._fork(random)) if beside is None else beside.network
        self.network: Network = network
        self.ensemble = Ensemble(self._fork(random))
        self.machine = self._fork(random)
        self.bucket = Bucket(self._fork(random))
        common = (self.loop, self.network, self.note)
        prefix = f"{name}-" if name else ""
        self.zookeeper = ZooKeeperServer(
            f"{prefix}zookeeper", self.ensemble, ZOOKEEPER_PORT, *common
        )
        self.zookeeper_address = f"{self.zookeeper.name}:{ZOOKEEPER_PORT}"
        self._settings: dict[str, object] = {
            "metadataStoreUrl": f"zk:{self.zookeeper_address}",
            **({"clusterName": name} if name else {}),
            "brokerServicePort": BROKER_PORT,
            "webServicePort": -1,
            "metadataStoreSessionTimeoutMillis": 10_000,
            "loadBalancerEnabled": False,
            **settings,
        }
        self.bookies = [
            BookieServer(
                f"{prefix}bookie-{number}", self.zookeeper_address, self._fork(random), *common
            )
            for number in range(1, bookies + 1)
        ]
        self.brokers = [
            BrokerServer(f"{prefix}broker-{number}", self._settings, self.prepare, *common)
            for number in range(1, brokers + 1)
        ]
        self.clients: list[Process] = []
        self.world = Context()
        self._spawned: list[asyncio.Task[None]] = []
        self.regions: list[SimulatedCluster] = [self] if beside is None else beside.regions
        if beside is not None:
            self.regions.append(self)
        self.prepared: Callable[[Process], None] = lambda _: None

    @property
    def servers(self) -> list[Server]:
        return [self.zookeeper, *self.bookies, *self.brokers]

    @property
    def service_url(self) -> str:
        return "pulsar://" + ",".join(f"{each.name}:{BROKER_PORT}" for each in self.brokers)

    def note(self, who: str, what: str) -> None:
        """Add a line to the story."""
        self.story.append(f"{self.loop.time() - BEGIN_S:12.6f}  {who:<14} {what}")

    async def open_metadata(self) -> MetadataStore:
        """What records are in, for an operator. Raises StorageError."""
        return await ZooKeeperMetadataStore.open(ZooKeeperSettings(servers=self.zookeeper_address))

    def prepare(self, process: Process) -> None:
        """Set up the process of a broker that begins."""
        self.prepared(process)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work``, the world's part, to its end; then nothing of the cluster is left."""
        with simulated_machine(self.machine, self.bucket), _no_collection():
            try:
                result: T = self.loop.run_until_complete(work)
                return result
            finally:
                gc.collect()  # What nobody handled is told, of processes that live.
                self._forget()

    async def start(self) -> None:
        """Begin all servers, and wait until the cluster was initialised and the brokers serve."""
        self.zookeeper.start()
        setter = Process("initialize")
        config = Config.read(flags={**self._settings, "advertisedAddress": "initialize"})
        await setter.run(
            initialize_cluster(
                config, "http://cluster", self.service_url, "", "", bundles=4, coordinators=2
            )
        )
        for bookie in self.bookies:
            bookie.start()
        await self.until(lambda: len(self._children("/ledgers/available")) > len(self.bookies))
        for broker in self.brokers:
            broker.start()
        await self.until(lambda: all(each.broker is not None for each in self.brokers))

    async def until(self, condition: Callable[[], bool], timeout_s: float = 600.0) -> bool:
        """Let time pass until ``condition``, or for so long; whether it is met."""
        end = self.loop.time() + timeout_s
        while not condition():
            if self.loop.time() >= end:
                return False
            await self.sleep(0.05)
        return True

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin ``work`` of the world's."""
        self._spawned.append(self.loop.create_task(work, context=Context()))

    async def sleep(self, seconds: float) -> None:
        awake = self.loop.create_future()
        self.loop.call_later(seconds, awake.set_result, None, context=Context())
        await awake

    def new_client(self, name: str, url: str = "", **options: Any) -> tuple[Process, Client]:
        """A client in a process of its own."""
        process = Process(name)
        self.clients.append(process)
        chance = self._fork(self.machine).random
        client = process.context.run(
            lambda: Client(url or self.service_url, clock=process.clock, chance=chance, **options)
        )
        return process, client

    def kill_client(self, process: Process) -> None:
        """End the process of a client at once."""
        self.note(process.name, "is killed")
        process.alive = False
        self.network.died(process, power=False)

    def _children(self, path: str) -> tuple[str, ...]:
        node = self.ensemble.znodes.nodes.get(path)
        return () if node is None else node.children

    @staticmethod
    def _fork(random: Random) -> Random:
        return Random(random.getrandbits(64))  # noqa: S311 - it is drawn from a seed

    def _forget(self) -> None:
        """End all tasks, so that nothing of this run is told when it is collected."""
        servers = [each for cluster in self.regions for each in cluster.servers]
        processes = [each for server in servers for each in server.dead]
        processes += [each.process for each in servers if each.process is not None]
        processes += [each for cluster in self.regions for each in cluster.clients]
        with (
            patch("sys.unraisablehook", lambda _: None),
            patch("logging.Logger.handle", lambda *_: None),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            for process in processes:
                process.alive = False
                self._close(process.tasks)
                process.tasks.clear()
            for cluster in self.regions:
                self._close(cluster._spawned)  # noqa: SLF001 - one of them
            self.loop.close()

    @staticmethod
    def _close(tasks: Iterable[asyncio.Task[Any]]) -> None:
        for task in list(tasks):
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001
            work = task.get_coro()
            if isinstance(work, Coroutine):
                with suppress(BaseException):  # It cleans up where there is no loop.
                    work.close()


@contextmanager
def _no_collection() -> Iterator[None]:
    """When what is garbage is collected depends on what ran before."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
