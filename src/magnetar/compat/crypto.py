"""Keys for encrypted messages, and what a message says of its encryption."""

from magnetar.client.encryption.keys import FileKeyReader
from magnetar.client.message import EncryptionContext as OurEncryptionContext
from magnetar.message.metadata import EncryptedKey

from .checks import check_type
from .enums import CompressionType


class CryptoKeyReader:
    """A public and a private key in files of PEM: one pair for all keys, whatever their names."""

    def __init__(self, public_key_path: str, private_key_path: str) -> None:
        """Raises ValueError when a path is no text."""
        check_type(str, public_key_path, "public_key_path")
        check_type(str, private_key_path, "private_key_path")
        self.cryptoKeyReader = FileKeyReader(public=public_key_path, private=private_key_path)


class EncryptionKey:
    """A data key as one receiver got it: encrypted with that receiver's public key."""

    def __init__(self, key: EncryptedKey) -> None:
        """``key`` is our client's."""
        self._key = key

    @property
    def key(self) -> str:
        """The name of the receiver's key."""
        return self._key.name

    @property
    def value(self) -> bytes:
        """The encrypted data key."""
        return self._key.value

    @property
    def metadata(self) -> dict[str, str]:
        """What the producer's key reader says of the key."""
        return dict(self._key.metadata)

    def __str__(self) -> str:
        return (
            f"EncryptionKey(key={self.key}, value_len={len(self.value)}, metadata={self.metadata})"
        )

    __repr__ = __str__


class EncryptionContext:
    """How a message was encrypted: what it takes to decrypt it."""

    def __init__(self, context: OurEncryptionContext) -> None:
        """``context`` is our client's."""
        self._context = context

    def keys(self) -> list[EncryptionKey]:
        """The data key, once for each who may read."""
        return [EncryptionKey(key) for key in self._context.keys]

    def param(self) -> bytes:
        """The initialisation vector."""
        return self._context.param

    def algorithm(self) -> str:
        """The name of the algorithm; "" as clients usually leave it."""
        return self._context.algorithm

    def compression_type(self) -> CompressionType:
        """How the payload is compressed below the encryption."""
        return CompressionType(self._context.compression)

    def uncompressed_message_size(self) -> int:
        """The bytes of the payload before it was compressed; 0 when it was not."""
        return self._context.uncompressed_size

    def batch_size(self) -> int:
        """How many messages are in the batch; -1 when it is none."""
        return self._context.batch_size or -1

    def is_decryption_failed(self) -> bool:
        """Whether ``data()`` is still encrypted."""
        return not self._context.decrypted

    def __str__(self) -> str:
        return (
            f"EncryptionContext(algorithm={self.algorithm()}, "
            f"compression_type={self.compression_type().name}, "
            f"uncompressed_message_size={self.uncompressed_message_size()}, "
            f"is_decryption_failed={self.is_decryption_failed()}, "
            f"keys=[{', '.join(map(str, self.keys()))}])"
        )

    __repr__ = __str__
