"""The servers of a simulated cluster: each is a process that can die, and be started again."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from random import Random
from typing import Any, Final

from magnetar.broker.assemble.broker import running_broker
from magnetar.broker.broker import Broker
from magnetar.broker.config import Config
from magnetar.errors import MagnetarError
from magnetar.storage.metadata.store import SessionState
from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore, ZooKeeperSettings
from magnetar.tasks import Tasks

from .bookie import Bookie, Disk
from .loop import SimulatedLoop
from .network import Network
from .processes import Process
from .zookeeper import Ensemble

BOOKIE_PORT: Final = 3181
RESTART_S: Final = 1.0
"""One that cannot begin is started again after so long."""
AVAILABLE: Final = "/ledgers/available"


class Server:
    """One of them, whether it runs or not."""

    def __init__(
        self, name: str, loop: SimulatedLoop, network: Network, note: Callable[[str, str], None]
    ) -> None:
        self.name = name
        self.process: Process | None = None
        self.dead: list[Process] = []  # Kept, so that what they left is never collected.
        self._loop = loop
        self._network = network
        self._note = note
        self._wanted = False

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.alive

    def start(self) -> None:
        """Begin, if it does not run."""
        self._wanted = True
        if self.runs:
            return
        self._note(self.name, "starts")
        process = self.process = Process(self.name)
        self._set_up(process)
        process.run(self._serve(process))

    def kill(self, *, power: bool = False) -> None:
        """End it now; with ``power``, as a machine does that loses it."""
        self._wanted = False
        if self.runs:
            self._note(self.name, "loses power" if power else "is killed")
            self._end(power=power)

    def kill_after(self, calls: int) -> None:
        """End it in the middle of what it does."""
        if self.process is not None and self.runs:
            self.process.fuse = calls
            self.process.blown = self.kill

    def pause(self) -> None:
        """Stop it, as SIGSTOP does."""
        if self.process is not None and self.runs and not self.process.paused:
            self._note(self.name, "stands still")
            self.process.paused = True

    def resume(self) -> None:
        """Let it go on."""
        if self.process is not None and self.runs and self.process.paused:
            self._note(self.name, "goes on")
            self._loop.resume(self.process)

    def _end(self, *, power: bool = False) -> None:
        assert self.process is not None
        self.process.alive = False
        self.dead.append(self.process)
        self._network.died(self.process, power=power)

    def _set_up(self, process: Process) -> None:
        """Prepare the process before anything runs in it."""

    async def _serve(self, process: Process) -> None:
        try:
            await self._work(process)
        except (MagnetarError, OSError) as error:
            self._note(self.name, f"cannot begin: {error}")
        self._loop.call_soon(self._exit, process, context=Context())

    def _exit(self, process: Process) -> None:
        if process is not self.process or not process.alive:
            return
        self._note(self.name, "has ended")
        self._end()
        if self._wanted:
            self._loop.call_later(RESTART_S, self._start_again, context=Context())

    def _start_again(self) -> None:
        if self._wanted:
            self.start()

    def _work(self, process: Process) -> Coroutine[Any, Any, None]:
        raise NotImplementedError


class ZooKeeperServer(Server):
    """Serves an ensemble, which outlives it."""

    def __init__(self, name: str, ensemble: Ensemble, port: int, *common: Any) -> None:
        super().__init__(name, *common)
        self._ensemble = ensemble
        self._port = port

    async def _work(self, process: Process) -> None:
        await self._ensemble.serve(self.name, self._port)
        self._note(self.name, "serves")
        await asyncio.get_running_loop().create_future()


class BookieServer(Server):
    """A bookie, and its record of those that are there."""

    def __init__(self, name: str, zookeeper: str, random: Random, *common: Any) -> None:
        super().__init__(name, *common)
        self.disk = Disk(random)
        self.bookie: Bookie | None = None
        self.bookie_id = f"{self.name}:{BOOKIE_PORT}"
        self._zookeeper = zookeeper
        self._metadata: ZooKeeperMetadataStore | None = None
        self._tasks = Tasks(self.name)

    async def _work(self, process: Process) -> None:
        self.bookie = Bookie(self.disk)
        await self.bookie.serve(self.name, BOOKIE_PORT)
        await register(self._zookeeper, self.bookie_id, self.bookie, self._tasks)
        self._note(self.name, "serves")
        await asyncio.get_running_loop().create_future()


async def register(zookeeper: str, bookie_id: str, bookie: Bookie, tasks: Tasks) -> None:
    """Say that a bookie is there, also after a session has ended. Raises StorageError."""
    metadata = await ZooKeeperMetadataStore.open(
        ZooKeeperSettings(servers=zookeeper, session_timeout_s=10.0)
    )

    saying = asyncio.Lock()

    async def say() -> None:
        async with saying:  # Who becomes writable has said before that it was not.
            below = ("", "/readonly") if bookie.read_only else ("/readonly", "")
            await metadata.delete(f"{AVAILABLE}{below[0]}/{bookie_id}")
            await metadata.put(f"{AVAILABLE}{below[1]}/{bookie_id}", b"", ephemeral=True)

    def changed(state: SessionState) -> None:
        if state is SessionState.CONNECTED:
            tasks.spawn("register", say())

    def presence_changed() -> None:
        tasks.spawn("register", say())

    metadata.watch_session(changed)
    bookie.presence_changed = presence_changed
    await say()


class BrokerServer(Server):
    """A broker of the cluster: the real one."""

    def __init__(
        self,
        name: str,
        settings: dict[str, object],
        prepare: Callable[[Process], None],
        *common: Any,
    ) -> None:
        super().__init__(name, *common)
        self.broker: Broker | None = None
        self._config = Config.read(flags={**settings, "advertisedAddress": self.name})
        self._prepare = prepare
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Let it hand over what it serves, and end."""
        if self.runs:
            self._note(self.name, "stops")
            self._wanted = False
            assert self.process is not None
            self.process.call(self._stopping.set)

    def _set_up(self, process: Process) -> None:
        self.broker = None
        self._stopping = asyncio.Event()
        self._prepare(process)

    async def _work(self, process: Process) -> None:
        stopping = self._stopping
        async with running_broker(self._config, clock=process.clock) as broker:
            self.broker = broker
            self._note(self.name, "serves")
            await stopping.wait()
