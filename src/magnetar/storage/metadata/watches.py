"""The watches of one metadata store, for every implementation."""

import asyncio
from collections.abc import Callable

from magnetar.storage.metadata.store import SessionState


class PathWatch:
    """A watch on everything at or below a prefix."""

    def __init__(self, watches: "Watches", prefix: str, changed: Callable[[str], None]) -> None:
        self.prefix = prefix
        self.below = prefix.rstrip("/") + "/"
        self.changed = changed
        self._watches = watches

    def cancel(self) -> None:
        self._watches.end(self)


class Watches:
    """The running watches. ``all_ended`` is called when the last of them was cancelled."""

    def __init__(self, all_ended: Callable[[], object] = lambda: None) -> None:
        self._running: list[PathWatch] = []
        self._all_ended = all_ended

    def __len__(self) -> int:
        return len(self._running)

    def begin(self, prefix: str, changed: Callable[[str], None]) -> PathWatch:
        watch = PathWatch(self, prefix, changed)
        self._running.append(watch)
        return watch

    def end(self, watch: PathWatch) -> None:
        if watch in self._running:
            self._running.remove(watch)
            if not self._running:
                self._all_ended()

    def clear(self) -> None:
        self._running.clear()

    def notify(self, path: str | None) -> None:
        """Call the watches of a record that changed; all of them, if it is not known which did."""
        loop = asyncio.get_running_loop()
        for watch in self._running:
            changed = watch.prefix if path is None else path
            if changed == watch.prefix or changed.startswith(watch.below):
                # Each has a call of its own, so that one that fails stops no other.
                loop.call_soon(self._call, watch, changed)

    def _call(self, watch: PathWatch, path: str) -> None:
        if watch in self._running:
            watch.changed(path)


class SessionWatch:
    """A watch on the state of a session."""

    def __init__(self, watches: "SessionWatches", changed: Callable[[SessionState], None]) -> None:
        self.changed = changed
        self._watches = watches

    def cancel(self) -> None:
        self._watches.end(self)


class SessionWatches:
    """Tells of the state of one session, once for each change."""

    def __init__(self) -> None:
        self._running: list[SessionWatch] = []
        self._state = SessionState.CONNECTED

    def begin(self, changed: Callable[[SessionState], None]) -> SessionWatch:
        self._running.append(SessionWatch(self, changed))
        return self._running[-1]

    def end(self, watch: SessionWatch) -> None:
        if watch in self._running:
            self._running.remove(watch)

    def notify(self, state: SessionState) -> None:
        """Tell all watches at once: who loses a lease must stop before this returns."""
        if state is self._state and state is not SessionState.LOST:
            return
        self._state = state
        for watch in list(self._running):
            watch.changed(state)
