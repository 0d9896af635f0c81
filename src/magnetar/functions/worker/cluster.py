"""The workers of a cluster: their leader writes down which functions there are, and who runs each.

As in Pulsar, every worker follows the topics of functions and of assignments, and runs what is
assigned to it. The leader alone writes to them, through exclusive producers: a worker that was the
leader and does not know yet that it is no longer has lost them.

    LEADER   what changes functions, and what must see each change at once, is asked of the leader
    RUNNER   what is about the instances of a function is asked of the worker that runs them

Any worker may be asked; who is the wrong one answers with the address of the right one (307).
"""

import asyncio
import logging
from contextlib import AsyncExitStack
from enum import Enum, auto
from typing import Final, Protocol, Self

from magnetar.client.client import Client
from magnetar.client.config import ClientOptions
from magnetar.clock import Clock
from magnetar.errors import MagnetarError, NotOwner, NotReady
from magnetar.functions.worker import assignments
from magnetar.functions.worker.admin import Admin
from magnetar.functions.worker.assignments import placed, rebalanced
from magnetar.functions.worker.members import Member, Members
from magnetar.functions.worker.metadata import TOPIC, FunctionMetaData
from magnetar.functions.worker.records_topic import RecordsTopic
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)

LOOK_S: Final = 1.0
GONE_AFTER_S: Final = 5.0
"""A worker that is missed for so long has its functions taken over."""


class Asked(Enum):
    """Which worker answers a request."""

    LEADER = auto()
    RUNNER = auto()


class Runner(Protocol):
    """What runs the functions of this worker."""

    def look_at(self, fqfn: str) -> None:
        """Run a function, or run it no more, where it has changed, or its worker."""

    async def settled(self, fqfn: str) -> bool:
        """Return when nothing runs here of how a function was; after a while False, if it does."""

    async def finish_deletions(self) -> None:
        """Go on with what a leader before this one began."""


class WorkerCluster:
    """What one worker knows of all, and does as one of them. Made by ``join``."""

    _worker: Runner  # From the start on.

    def __init__(
        self,
        members: Members,
        functions: RecordsTopic[FunctionMetaData],
        assigned: RecordsTopic[str],
        *,
        options: ClientOptions,
        clock: Clock,
    ) -> None:
        self.members = members
        self.own = members.own
        self.leading = False
        self._functions = functions
        self._assigned = assigned
        self._options = options
        self._clock = clock
        self._placing = asyncio.Lock()
        self._seen: dict[str, float] = {}  # When workers were there last.
        self._known = asyncio.Event()  # Set when somebody leads.
        self._trouble = ""

    @classmethod
    async def join(
        cls,
        own: Member,
        client: Client,
        admin: Admin,
        *,
        options: ClientOptions,
        clock: Clock,
        stack: AsyncExitStack,
    ) -> Self:
        """Become a member, and follow the topics until the stack closes."""
        functions = await RecordsTopic.open(client, TOPIC, FunctionMetaData.decode, stack)
        assigned = await RecordsTopic.open(client, assignments.TOPIC, assignments.decode, stack)
        members = await Members.join(own, client, admin)
        return cls(members, functions, assigned, options=options, clock=clock)

    @property
    def functions(self) -> dict[str, FunctionMetaData]:
        """The functions by full name, also those that are being deleted."""
        return self._functions.records

    @property
    def runners(self) -> dict[str, str]:
        """The worker of each function."""
        return self._assigned.records

    async def start(self, worker: Runner, tasks: Tasks) -> None:
        """Take part until ``tasks`` close. Returns when there is a leader."""
        self._worker = worker
        self._functions.changed = self._assigned.changed = worker.look_at
        for fqfn in list(self.functions):
            worker.look_at(fqfn)
        tasks.spawn("lead", self._take_part(worker))
        await self._known.wait()

    async def put(self, record: FunctionMetaData) -> None:
        """Write a function down. Raises NotReady where this worker does not lead."""
        await self._functions.put(record.config.fqfn, record.encode())

    async def forget(self, fqfn: str) -> None:
        """Write down that there is no such function."""
        await self._functions.put(fqfn, b"")
        await self._assigned.put(fqfn, b"")

    async def place(self) -> None:
        """Give each function that has no worker one that is there."""
        async with self._placing:
            members, _ = await self.members.look()
            now = self._clock.now()
            self._seen |= dict.fromkeys(members, now)
            missed = {name for name, at in self._seen.items() if now - at < GONE_AFTER_S}
            wanted = placed(self._instances(), self.runners, there=members, missed=missed)
            for fqfn, worker in wanted.items():
                before = self.runners.get(fqfn)
                level = logging.INFO if before is None else logging.WARNING
                log.log(level, "function.assigned %s worker=%s before=%s", fqfn, worker, before)
                await self._assigned.put(fqfn, assignments.encode(worker))

    async def rebalance(self) -> None:
        """Move functions, so that all workers have as much to do. Raises NotReady."""
        async with self._placing:
            members, _ = await self.members.look()
            if len(members) < 2:
                raise NotReady("Too few workers (need at least 2)")
            for fqfn, worker in rebalanced(self._instances(), self.runners, members).items():
                before = members.get(self.runners[fqfn])
                await self._assigned.put(fqfn, b"")
                await self.settle(fqfn, before)
                await self._assigned.put(fqfn, assignments.encode(worker))

    async def settle(self, fqfn: str, worker: Member | None) -> None:
        """Return when a worker runs nothing of how a function was. Raises NotReady if it does."""
        if worker == self.own:
            if not await self._worker.settled(fqfn):
                raise NotReady(f"{fqfn} has not ended yet")
        elif worker is not None:
            await Admin(worker.url, self._options).settled(fqfn)

    async def runner(self, fqfn: str) -> Member | None:
        """The worker of a function, where there is one, and it is there."""
        name = self.runners.get(fqfn)
        if name == self.own.id:
            return self.own
        members, _ = await self.members.look()
        return members.get(name or "")

    async def leader(self) -> Member:
        """The worker that leads. Raises NotReady."""
        if self.leading:
            return self.own
        members, active = await self.members.look()
        found = members.get(active)
        if found is None or found.id == self.own.id:
            raise NotReady("Leader not yet ready. Please retry again")
        return found

    async def refresh(self) -> None:
        """Know all that was written before this call."""
        await self._functions.refresh()
        await self._assigned.refresh()

    async def check(self, asked: Asked, fqfn: str = "") -> None:
        """Raises NotOwner, with the address of the worker to ask, where that is another."""
        if asked is Asked.RUNNER and not (fqfn in self.functions and fqfn in self.runners):
            await self.refresh()  # Whoever sent the request here knows more.
        record = self.functions.get(fqfn)
        if asked is Asked.RUNNER and record is not None and not record.deleted:
            worker = await self.runner(fqfn)
            if worker is None:
                raise NotReady(
                    f"the worker of {fqfn}, {self.runners.get(fqfn, 'not chosen yet')}, is not "
                    f"there: another one takes the function over within {GONE_AFTER_S:g} s"
                )
        else:
            worker = await self.leader()
        if worker != self.own:
            raise NotOwner(
                f"ask the worker {worker.id}", web_url=worker.url, web_url_tls=worker.url
            )

    def _instances(self) -> dict[str, int]:
        return {name: each.config.parallelism for name, each in self.functions.items()}

    async def _take_part(self, worker: Runner) -> None:
        while True:
            try:
                await self._look(worker)
                self._trouble = ""
            except MagnetarError as error:
                if str(error) != self._trouble:
                    log.warning("functions.not_leading worker=%s %s", self.own.id, error)
                self._trouble = str(error)
                await self._resign()
            await self._clock.sleep(LOOK_S)

    async def _look(self, worker: Runner) -> None:
        if not self.members.leads:
            await self._resign()
            await self.leader()
        elif self.leading:
            await self._functions.check()
            await self._assigned.check()
            await self.place()
        else:
            await self._functions.take()
            await self._assigned.take()
            self.leading = True
            self._seen = dict.fromkeys(self.runners.values(), self._clock.now())
            log.info("functions.leading worker=%s", self.own.id)
            await worker.finish_deletions()
            await self.place()
        self._known.set()

    async def _resign(self) -> None:
        self.leading = False
        await self._functions.release()
        await self._assigned.release()
