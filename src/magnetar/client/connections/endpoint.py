"""Where a broker is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a broker, and the address to connect to."""

    logical: str  # host:port under which the broker is known.
    physical: str  # host:port to connect to; a proxy has one of its own.
