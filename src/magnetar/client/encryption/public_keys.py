"""Encrypts a data key for those who have a private key, with RSA or on an elliptic curve.

RSA is OAEP with SHA-1, as every client of Pulsar's has it. Elliptic curves are Java's: ECIES as
Bouncy Castle does it by default, which is IEEE 1363a with ECDH, KDF2 and HMAC, both of SHA-1, and
XOR in place of a cipher:

    ephemeral public key (uncompressed point)   data key XOR K1   HMAC-SHA-1(K2, that)

where K2 (16 bytes) and K1 (as long as the data key) are KDF2 of the ephemeral public key and the
secret that it shares with the receiver's.
"""

import hmac
import re
from hashlib import sha1
from typing import TYPE_CHECKING, Final

from magnetar.errors import CryptoFailed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec, padding

_MAC_KEY_SIZE: Final = 16
_MAC_SIZE: Final = 20
_NO_ENCODING: Final = bytes(8)  # The length of the MAC's parameters, of which there are none.
# OpenSSL puts the curve of a key into a block of its own before it; the key says it again.
_CURVE: Final = re.compile(rb"-+BEGIN EC PARAMETERS-+[^-]*-+END EC PARAMETERS-+\s*")


def encrypt_for(public_pem: bytes, data_key: bytes) -> bytes:
    """The data key as only the owner of the private key can read it. Raises CryptoFailed."""
    from cryptography.hazmat.primitives.asymmetric import ec, rsa  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415

    try:
        key = load_pem_public_key(_CURVE.sub(b"", public_pem))
    except Exception as error:  # It raises what it likes for what is no key.
        raise CryptoFailed(f"not a public key in PEM: {error}") from error
    if isinstance(key, rsa.RSAPublicKey):
        return key.encrypt(data_key, _oaep())
    if isinstance(key, ec.EllipticCurvePublicKey):
        return _encrypt_on_curve(key, data_key)
    raise _unsuitable(key)


def decrypt_with(private_pem: bytes, encrypted: bytes) -> bytes:
    """The data key that was encrypted for the owner of this private key. Raises CryptoFailed."""
    from cryptography.hazmat.primitives.asymmetric import ec, rsa  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    try:
        key = load_pem_private_key(_CURVE.sub(b"", private_pem), password=None)
    except Exception as error:
        raise CryptoFailed(f"not a private key in PEM without a password: {error}") from error
    try:
        if isinstance(key, rsa.RSAPrivateKey):
            return key.decrypt(encrypted, _oaep())
        if isinstance(key, ec.EllipticCurvePrivateKey):
            return _decrypt_on_curve(key, encrypted)
    except ValueError as error:
        raise CryptoFailed("the data key was encrypted for another key") from error
    raise _unsuitable(key)


def _unsuitable(key: object) -> CryptoFailed:
    return CryptoFailed(f"{type(key).__name__} is neither an RSA key nor one of an elliptic curve")


def _oaep() -> "padding.OAEP":
    from cryptography.hazmat.primitives.asymmetric import padding  # noqa: PLC0415
    from cryptography.hazmat.primitives.hashes import SHA1  # noqa: PLC0415

    return padding.OAEP(padding.MGF1(SHA1()), SHA1(), label=None)  # noqa: S303  # Pulsar's.


def _encrypt_on_curve(key: "ec.EllipticCurvePublicKey", data_key: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    ephemeral = ec.generate_private_key(key.curve)
    point = _point(ephemeral.public_key())
    mac_key, stream = _derive(point, ephemeral.exchange(ec.ECDH(), key), len(data_key))
    hidden = _xor(data_key, stream)
    return point + hidden + _mac(mac_key, hidden)


def _decrypt_on_curve(key: "ec.EllipticCurvePrivateKey", encrypted: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    size = len(_point(key.public_key()))
    point, hidden, mac = encrypted[:size], encrypted[size:-_MAC_SIZE], encrypted[-_MAC_SIZE:]
    sender = ec.EllipticCurvePublicKey.from_encoded_point(key.curve, point)
    mac_key, stream = _derive(point, key.exchange(ec.ECDH(), sender), len(hidden))
    if not hmac.compare_digest(_mac(mac_key, hidden), mac):
        raise ValueError("the MAC does not match")
    return _xor(hidden, stream)


def _point(key: "ec.EllipticCurvePublicKey") -> bytes:
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        PublicFormat,
    )

    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _derive(point: bytes, shared: bytes, size: int) -> tuple[bytes, bytes]:
    """The key of the MAC, and ``size`` bytes to hide the data key with: KDF2."""
    derived, counter = b"", 1
    while len(derived) < _MAC_KEY_SIZE + size:
        derived += sha1(point + shared + counter.to_bytes(4)).digest()  # noqa: S324
        counter += 1
    return derived[:_MAC_KEY_SIZE], derived[_MAC_KEY_SIZE : _MAC_KEY_SIZE + size]


def _mac(key: bytes, hidden: bytes) -> bytes:
    return hmac.digest(key, hidden + _NO_ENCODING, "sha1")


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
