"""Which sockets are ready: epoll where there is one."""

import select

READ = select.POLLIN
WRITE = select.POLLOUT


class Poller:
    """``poll`` and ``epoll`` in one form; times in seconds."""

    def __init__(self) -> None:
        if hasattr(select, "epoll"):
            self._poll: select.epoll | select.poll = select.epoll()
            self._unit = 1.0
        else:
            self._poll = select.poll()
            self._unit = 1000.0
        self.register = self._poll.register
        self.modify = self._poll.modify
        self.unregister = self._poll.unregister

    def ready(self, timeout_s: float) -> list[tuple[int, int]]:
        """File numbers and what they are ready for."""
        return self._poll.poll(timeout_s * self._unit)

    def close(self) -> None:
        if hasattr(self._poll, "close"):
            self._poll.close()
