"""Data keys: what messages are encrypted with (AES-256-GCM).

A producer makes one, encrypts it for everybody who may read, and sends that with each entry. It
makes another every four hours, and reads the public keys again then.
"""

import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from magnetar.errors import CryptoFailed
from magnetar.message import metadata
from magnetar.message.metadata import EncryptedKey, Encryption

from .keys import CryptoKeyReader
from .public_keys import decrypt_with, encrypt_for

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

log = logging.getLogger(__name__)

RENEWAL_S: Final = 4 * 3600.0
DATA_KEYS_MAX: Final = 1000  # Decrypted ones that a consumer keeps; it decrypts the others again.
_KEY_BITS: Final = 256
_IV_SIZE: Final = 12


class Encryptor:
    """Encrypts what one producer sends."""

    tag_size: Final = 16  # The bytes that it adds to a payload,
    overhead: int  # and to an entry, with what the metadata says.

    def __init__(
        self, names: Sequence[str], reader: CryptoKeyReader, now: Callable[[], float]
    ) -> None:
        """Read the public keys of all ``names``. Raises CryptoFailed."""
        self._names = names
        self._reader = reader
        self._now = now
        self._renew_at = now() + RENEWAL_S
        self._renew()

    def encrypt(self, payload: bytes) -> tuple[bytes, bytes]:
        """The encrypted payload, and what the metadata must say in addition."""
        if self._now() >= self._renew_at:
            self._renew_at = self._now() + RENEWAL_S
            try:
                self._renew()
            except CryptoFailed as error:  # What was good for four hours is better than nothing.
                log.warning("producer.data_key_not_renewed error=%s", error)
        iv = secrets.token_bytes(_IV_SIZE)
        return self._cipher.encrypt(iv, payload, None), self._head + metadata.build_iv(iv)

    def _renew(self) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        data_key = AESGCM.generate_key(_KEY_BITS)
        keys = [self._encrypted(name, data_key) for name in self._names]
        self._head = metadata.build_encryption(keys)
        self._cipher = AESGCM(data_key)
        self.overhead = len(self._head) + len(metadata.build_iv(bytes(_IV_SIZE))) + self.tag_size

    def _encrypted(self, name: str, data_key: bytes) -> EncryptedKey:
        try:
            key = self._reader.public_key(name)
            return EncryptedKey(name, encrypt_for(key.pem, data_key), dict(key.metadata))
        except Exception as error:  # The reader is the application's.
            raise CryptoFailed(f"no public key of {name!a} to encrypt with: {error}") from error


def open_encryptor(
    names: Sequence[str],
    reader: CryptoKeyReader | None,
    now: Callable[[], float],
    *,
    required: bool,
) -> Encryptor | None:
    """What a producer encrypts with; None where nothing is to be encrypted.

    Raises CryptoFailed for a key that cannot be had, or (not ``required``) sends in clear.
    """
    if reader is None:
        return None
    try:
        return Encryptor(names, reader, now)
    except CryptoFailed as error:
        if required:
            raise
        log.warning("producer.sends_in_clear error=%s", error)
        return None


class Decryptor:
    """Decrypts what one consumer receives."""

    def __init__(self, reader: CryptoKeyReader) -> None:
        self._reader = reader
        self._ciphers: OrderedDict[bytes, AESGCM] = OrderedDict()  # By the encrypted data key.

    def decrypt(self, encryption: Encryption, payload: bytes) -> bytes:
        """The payload as it was before it was encrypted. Raises CryptoFailed."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        troubles = []
        for key in encryption.keys:
            try:
                cipher = self._ciphers.get(key.value) or self._open(key)
                return cipher.decrypt(encryption.param, payload, None)
            except (InvalidTag, ValueError):
                troubles.append(f"{key.name!a} does not fit what was encrypted")
            except CryptoFailed as error:
                troubles.append(str(error))
        raise CryptoFailed("; ".join(troubles))

    def _open(self, key: EncryptedKey) -> "AESGCM":
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        try:
            private = self._reader.private_key(key.name, key.metadata)
            cipher = AESGCM(decrypt_with(private.pem, key.value))
        except Exception as error:  # The reader is the application's.
            raise CryptoFailed(f"no private key of {key.name!a} that fits: {error}") from error
        self._ciphers[key.value] = cipher
        if len(self._ciphers) > DATA_KEYS_MAX:
            self._ciphers.popitem(last=False)
        return cipher
