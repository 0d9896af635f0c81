"""How a job hears from its instances, wherever they run, and how it stops them.

Each instance connects to the job, says once in a while what it has done, and is told when to stop.
When either side is gone the other notices: an instance without a job ends.
"""

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from types import MappingProxyType
from typing import Any, Final

REPORT_INTERVAL_S: Final = 1.0
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ChannelAddress:
    """Where a job listens, and the key that its instances show."""

    host: str
    port: int
    key: bytes


class StatusChannel:
    """The job's side: the latest report of each instance. Close it."""

    def __init__(self, key: bytes, host: str = "127.0.0.1") -> None:
        self._listener = Listener((host, 0), authkey=key)
        _, port = self._listener.address
        self.address = ChannelAddress(host, port, key)
        self._lock = threading.Condition()
        self._connected: dict[int, Connection[bytes, bytes]] = {}
        self._reports: dict[int, Mapping[str, Any]] = {}
        self._stopping = self._closed = False
        self._thread = threading.Thread(target=self._accept, name="functions-status", daemon=True)
        self._thread.start()

    def report(self, instance_id: int) -> Mapping[str, Any]:
        """What an instance has said last; empty before it was heard of."""
        return self._reports.get(instance_id, _NOTHING)

    def running(self, instance_id: int) -> bool:
        return instance_id in self._connected

    def wait(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Return when ``condition`` holds, looked at with each report; False: it does not."""
        with self._lock:
            return self._lock.wait_for(condition, timeout_s)

    def stop_instances(self, timeout_s: float) -> bool:
        """Have the instances stop, those to come too. False: some have not by then."""
        with self._lock:
            self._stopping = True
            for connection in self._connected.values():
                _tell(connection, b"stop")
            return self._lock.wait_for(lambda: not self._connected, timeout_s)

    def close(self) -> None:
        """Instances that are connected still are told to stop, and not waited for."""
        self.stop_instances(0.0)
        self._closed = True
        with suppress(OSError, EOFError):  # Nobody accepts any more.
            Client((self.address.host, self.address.port), authkey=self.address.key).close()
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except (AuthenticationError, OSError, EOFError):
                continue  # Somebody else's.
            if self._closed:
                connection.close()
                return
            threading.Thread(target=self._listen, args=(connection,), daemon=True).start()

    def _listen(self, connection: "Connection[bytes, bytes]") -> None:
        instance_id = -1
        try:
            while True:
                told = json.loads(connection.recv_bytes())
                with self._lock:
                    if instance_id < 0:
                        instance_id = told["instanceId"]
                        self._connected[instance_id] = connection
                        if self._stopping:
                            _tell(connection, b"stop")
                    self._reports[instance_id] = told
                    self._lock.notify_all()
        except (EOFError, OSError):
            with self._lock:
                if self._connected.get(instance_id) is connection:
                    del self._connected[instance_id]
                self._lock.notify_all()
        finally:
            connection.close()


class StatusReporter:
    """The instance's side. Close it, which sends the last report."""

    def __init__(
        self,
        address: ChannelAddress,
        report: Callable[[], Mapping[str, Any]],
        stop: Callable[[], None],
    ) -> None:
        """``stop`` is called when the job says so, or is gone. Raises OSError without a job."""
        self._connection = Client((address.host, address.port), authkey=address.key)
        self._report = report
        self._stop = stop
        self._said: Mapping[str, Any] = {}
        self._say()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="function-status", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        try:
            while not self._closed.is_set():
                if self._connection.poll(REPORT_INTERVAL_S / 4):
                    self._connection.recv_bytes()
                    self._stop()
                    self._closed.wait()
                self._say()
            self._say()  # What came between the last time and the end.
        except (EOFError, OSError):
            self._stop()

    def _say(self) -> None:
        said = self._report()
        if said != self._said:
            self._said = said
            self._connection.send_bytes(json.dumps(said).encode())


def _tell(connection: "Connection[bytes, bytes]", what: bytes) -> None:
    with suppress(OSError):  # It is gone, which its own thread notices.
        connection.send_bytes(what)
