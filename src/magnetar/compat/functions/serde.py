"""How a function's input and output become bytes."""

import pickle
from typing import Final

_TEXTS: Final = (int, float, complex, str)


class SerDe:
    """The interface."""

    def serialize(self, input: object) -> bytes | None:
        """The object as bytes."""

    def deserialize(self, input_bytes: bytes) -> object:
        """The object that the bytes stand for."""


class PickleSerDe(SerDe):
    """Pickles: only for input that can be trusted, as ever with pickles."""

    def serialize(self, input: object) -> bytes:
        return pickle.dumps(input)

    def deserialize(self, input_bytes: bytes) -> object:
        return pickle.loads(input_bytes)  # noqa: S301 - it is what the class is for.


class IdentitySerDe(SerDe):
    """Bytes as they are; numbers and text as text."""

    def serialize(self, input: object) -> bytes:
        """Raises TypeError for anything else."""
        if type(input) in _TEXTS:
            return str(input).encode()
        if type(input) is bytes:
            return input
        raise TypeError(f"IdentitySerde cannot serialize object of type {type(input)}")

    def deserialize(self, input_bytes: bytes) -> object:
        """A number where the text is one, else the text, else the bytes."""
        for kind in _TEXTS:
            try:
                return kind(input_bytes.decode())
            except ValueError:
                continue
        return input_bytes
