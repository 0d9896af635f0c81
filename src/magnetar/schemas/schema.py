"""What every schema can do: values to bytes and back, and what the broker is told of it. Pure."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol

from magnetar.errors import InvalidValue
from magnetar.model.schemas import SchemaInfo

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # A type checker brings it along.

    T = TypeVar("T", default=bytes)
    T_co = TypeVar("T_co", default=bytes, covariant=True)
else:
    from typing import TypeVar

    T = TypeVar("T")
    T_co = TypeVar("T_co", covariant=True)


class Encoded(Protocol):
    """A message's bytes as a schema decodes them."""

    @property
    def data(self) -> bytes: ...

    @property
    def key_bytes(self) -> bytes | None: ...


def check_schema(schema: object) -> None:
    """Accept a schema, or None for values in bytes. Raises InvalidValue."""
    if schema is None or isinstance(schema, Schema):
        return
    kind = schema if isinstance(schema, type) else type(schema)
    if issubclass(kind, Schema):
        raise InvalidValue(f"schema is the class {kind.__name__}: give an object of it")
    raise InvalidValue(
        f"schema must be a schema of magnetar.schemas, not {schema!a:.100}: give StringSchema(), "
        "JsonSchema(YourClass), JsonSchema.from_definition(text) or another of them"
    )


@dataclass(frozen=True, slots=True)
class Payload:
    """Encoded bytes outside a message."""

    data: bytes
    key_bytes: bytes | None = None


class Schema(ABC, Generic[T]):
    """Turns the values of one topic into bytes and back.

    ``T`` is the type of the values; everywhere in the client it is ``bytes`` when left out:
    ``Producer`` is ``Producer[bytes]``.
    """

    info: SchemaInfo | None  # What the broker is told; None for nothing.
    evolves: bool = False  # To decode, it must know the schema it was written with.

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @abstractmethod
    def encode(self, value: T) -> bytes:
        """The payload. Raises InvalidValue for a value that does not fit."""

    @abstractmethod
    def decode(self, data: bytes) -> T:
        """The value of a payload written with this schema. Raises UndecodableValue."""

    def encode_key(self, value: T) -> bytes | None:
        """The part of a value that travels as the message's key; None if there is none."""
        return None

    def decoder(self, writer: SchemaInfo | None) -> Callable[[Encoded], T]:
        """What decodes messages written with ``writer``, as ``decode`` does; None: with itself.

        Raises UndecodableValue if nothing can.
        """
        return lambda message: self.decode(message.data)
