"""Where the keys are: what an application tells of them by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from magnetar.errors import InvalidValue

NAME_IN_PATH: Final = "{name}"
_OF_A_PATH: Final = frozenset("/\\\0")


@dataclass(frozen=True, slots=True)
class EncryptionKey:
    """A public or private key in PEM: of RSA, or of an elliptic curve.

    The ``metadata`` of a public key travels with every message that is encrypted for it, to be
    shown to the reader of the private key: a version, say.
    """

    pem: bytes
    metadata: Mapping[str, str] = field(default_factory=dict)


class CryptoKeyReader(Protocol):
    """Finds keys by name; an application may bring its own.

    It is called on the client's event loop and must answer at once: public keys are read when a
    producer is made and every four hours, private ones for each new data key. Whatever it raises
    says that there is no such key.
    """

    def public_key(self, name: str) -> EncryptionKey:
        """The key to encrypt for ``name`` with."""

    def private_key(self, name: str, metadata: Mapping[str, str]) -> EncryptionKey:
        """The key of ``name``; ``metadata`` is that of the public key that was encrypted with."""


class FileKeyReader:
    """Keys in files. Each path may have ``{name}`` in it, which the key's name takes the place of.

    Who only sends needs no private keys, who only receives no public ones. Raises InvalidValue
    for a name that would lead into another folder.
    """

    def __init__(
        self, *, public: str | Path | None = None, private: str | Path | None = None
    ) -> None:
        self._public = public
        self._private = private

    def public_key(self, name: str) -> EncryptionKey:
        return EncryptionKey(_path("public", self._public, name).read_bytes())

    def private_key(self, name: str, metadata: Mapping[str, str]) -> EncryptionKey:
        return EncryptionKey(_path("private", self._private, name).read_bytes(), metadata)


def _path(kind: str, path: str | Path | None, name: str) -> Path:
    if path is None:
        raise InvalidValue(f"FileKeyReader knows no {kind} keys: give it {kind}=PATH")
    if NAME_IN_PATH not in str(path):
        return Path(path)
    if name in {"", ".", ".."} or not _OF_A_PATH.isdisjoint(name):
        raise InvalidValue(f"{name!a} is no name of a key: it would lead into another folder")
    return Path(str(path).replace(NAME_IN_PATH, name))
