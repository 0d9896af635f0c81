"""A model of ZooKeeper's servers: sessions that end, reads that lag behind, watches that are late.

Writes are one order. The server that a session is connected to may know less than was written, but
never less than that session was told; it tells a watch of a change before it shows it.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, Final

from kazoo.exceptions import KazooException, NoNodeError

from .messages import Messages
from .processes import WALL_MS
from .znodes import Operation, Znodes

FIRST_SESSION: Final = 0x1000


class Session:
    """What the servers know of a session."""

    def __init__(self, number: int, timeout_s: float) -> None:
        self.number = number
        self.timeout_s = timeout_s
        self.connection: _Served | None = None
        self.timer: asyncio.TimerHandle | None = None


class Ensemble:
    """What the servers keep: it outlives their processes."""

    def __init__(self, random: Random) -> None:
        self.lag_s_max = 0.0
        self.lost_answers = 0.0
        """How often a connection ends after a write was done and before it is answered."""
        self.znodes = Znodes()
        self.written: Callable[[Operation], None] = lambda _: None
        """Told of each write when it is done."""
        self.sessions: dict[int, Session] = {}
        self._random = random
        self._connections: dict[_Served, None] = {}
        self._next_session = FIRST_SESSION

    async def serve(self, host: str, port: int) -> asyncio.AbstractServer:
        """Listen, in the process that calls; sessions get their whole time again."""
        self._connections.clear()
        for session in self.sessions.values():
            session.connection = None
            self._heard(session)
        return await asyncio.get_running_loop().create_server(self._connected, host, port)

    def _connected(self) -> Messages:
        return _Served(self, self._random.uniform(0, self.lag_s_max)).messages

    # What connections ask.

    def session_of(self, connection: "_Served", number: int, timeout_s: float) -> Session | None:
        """The session that is to go on, or a new one; None where it has ended."""
        if number:
            session = self.sessions.get(number)
        else:
            session = Session(self._next_session, timeout_s)
            self._next_session += 1
            self.sessions[session.number] = session
        if session is not None:
            if session.connection is not None:
                session.connection.messages.abort()
            session.connection = connection
            self._connections[connection] = None
            self._heard(session)
        return session

    def heard(self, session: Session) -> None:
        if session.number in self.sessions:
            self._heard(session)

    def write(self, operations: list[Operation], session: int) -> list[Any]:
        """Raises KazooException."""
        loop = asyncio.get_running_loop()
        results = self.znodes.write(operations, session, WALL_MS + int(loop.time() * 1000))
        for operation in operations:
            self.written(operation)
        for connection in self._connections:
            if connection.lag_s:
                loop.call_later(connection.lag_s, connection.catch_up, self.znodes.zxid)
            else:
                connection.catch_up(self.znodes.zxid)
        return results

    def sessions_from(self, host: str) -> list[int]:
        """The sessions that are connected from a host."""
        return [
            session.number
            for session in self.sessions.values()
            if session.connection is not None and session.connection.messages.peer == host
        ]

    def answer_is_lost(self) -> bool:
        return bool(self.lost_answers) and self._random.random() < self.lost_answers

    def forget(self, connection: "_Served") -> None:
        self._connections.pop(connection, None)

    def end(self, number: int) -> None:
        """End a session: its ephemeral znodes go with it."""
        session = self.sessions.pop(number, None)
        if session is None:
            return
        if session.timer is not None:
            session.timer.cancel()
        for path in self.znodes.owned(number):
            self.write([Operation("delete", path)], number)
        if session.connection is not None:
            session.connection.messages.close()

    def _heard(self, session: Session) -> None:
        if session.timer is not None:
            session.timer.cancel()
        loop = asyncio.get_running_loop()
        session.timer = loop.call_later(session.timeout_s, self.end, session.number)


class _Served:
    """A connection of a session."""

    def __init__(self, ensemble: Ensemble, lag_s: float) -> None:
        self.lag_s = lag_s
        self.messages = Messages(self._taken, self._lost)
        self._ensemble = ensemble
        self._session: Session | None = None
        self._watches = ""  # The path of its persistent recursive watch.
        self._seen = ensemble.znodes.zxid
        self._told = len(ensemble.znodes.changes)  # So many changes.

    def catch_up(self, zxid: int) -> None:
        """Learn of what was written, and tell of it."""
        if zxid <= self._seen:
            return
        self._seen = zxid
        changes = self._ensemble.znodes.changes
        while self._told < len(changes) and changes[self._told].zxid <= zxid:
            change = changes[self._told]
            self._told += 1
            if self._watches and _is_below(change.path, self._watches):
                self.messages.send("event", *change)

    def _taken(self, _: Messages, message: Any) -> None:
        kind, *arguments = message
        if kind == "connect":
            number, timeout_s = arguments
            self._session = self._ensemble.session_of(self, number, timeout_s)
            if self._session is None:
                self.messages.send("expired")
                self.messages.close()
            else:
                self.messages.send("connected", self._session.number)
            return
        session = self._session
        if session is None or session.connection is not self:
            return
        self._ensemble.heard(session)
        if kind == "ping":
            self.messages.send("pong")
        elif kind == "close":
            self._ensemble.end(session.number)
        else:
            self._answer(session.number, *arguments)

    def _answer(self, session: int, xid: int, name: str, arguments: Any) -> None:
        result, error = None, None
        try:
            result = self._do(session, name, arguments)
        except KazooException as raised:
            error = raised
        if name == "write" and self._ensemble.answer_is_lost():
            self.messages.abort()
            return
        self.messages.send("answer", xid, result, error)

    def _do(self, session: int, name: str, arguments: Any) -> Any:
        ensemble = self._ensemble
        if name == "write":
            try:
                results = ensemble.write(arguments, session)
            finally:
                self.catch_up(ensemble.znodes.zxid)
            return results
        if name == "watch":
            self._watches = arguments
            self.catch_up(ensemble.znodes.zxid)
            return None
        try:
            node = ensemble.znodes.read(arguments, self._seen)
        except NoNodeError:
            if name == "exists":
                return None
            raise
        if name == "get":
            return node.value, node.stat
        return node.stat if name == "exists" else list(node.children)

    def _lost(self, _: Messages) -> None:
        self._ensemble.forget(self)
        if self._session is not None and self._session.connection is self:
            self._session.connection = None


def _is_below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(prefix.rstrip("/") + "/")
