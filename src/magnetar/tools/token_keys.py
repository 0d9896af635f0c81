"""Keys of tokens: made, stored in files that only their owner reads, and read again."""

import json
import os
import re
import secrets
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from magnetar.errors import InvalidValue

SECRETS: Final = ("HS256", "HS384", "HS512")
PAIRS: Final = tuple(f"{family}{size}" for family in ("RS", "PS", "ES") for size in (256, 384, 512))
_RSA_BITS: Final = 2048
_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}


def new_secret(algorithm: str) -> bytes:
    """As many bytes as the algorithm can use."""
    return secrets.token_bytes(int(algorithm[2:]) // 8)


def new_pair(algorithm: str) -> tuple[bytes, bytes]:
    """A private and a public key, in DER as Pulsar's tools write them."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - not for --help
    from cryptography.hazmat.primitives.asymmetric import ec, rsa  # noqa: PLC0415 - as above

    curves: dict[str, ec.EllipticCurve] = {
        "ES256": ec.SECP256R1(),
        "ES384": ec.SECP384R1(),
        "ES512": ec.SECP521R1(),
    }
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
    if algorithm in curves:
        key = ec.generate_private_key(curves[algorithm])
    else:
        key = rsa.generate_private_key(65537, _RSA_BITS)
    private = key.private_bytes(
        serialization.Encoding.DER,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private, public


def private_key(content: bytes) -> Any:
    """A private key in PEM or DER. Raises InvalidValue."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - not for --help

    pem = content.lstrip().startswith(b"-----BEGIN")
    load = serialization.load_pem_private_key if pem else serialization.load_der_private_key
    try:
        return load(content, None)
    except (ValueError, TypeError):
        raise InvalidValue(
            "--private-key is no private key in PEM or DER, without a password"
        ) from None


def key_set(keys: Mapping[str, bytes]) -> bytes:
    """A JSON Web Key Set of public keys in PEM or DER, by their names. Raises InvalidValue."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - not for --help
    from cryptography.hazmat.primitives.asymmetric import ec, rsa  # noqa: PLC0415 - as above
    from jwt.algorithms import ECAlgorithm, RSAAlgorithm  # noqa: PLC0415 - as above

    found = []
    for kid, content in keys.items():
        pem = content.lstrip().startswith(b"-----BEGIN")
        load = serialization.load_pem_public_key if pem else serialization.load_der_public_key
        try:
            key = load(content)
        except (ValueError, TypeError):
            raise InvalidValue(f"the key {kid} is no public key in PEM or DER") from None
        if isinstance(key, rsa.RSAPublicKey):
            said = RSAAlgorithm.to_jwk(key, as_dict=True)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            said = ECAlgorithm.to_jwk(key, as_dict=True)
        else:
            raise InvalidValue(f"the key {kid} is neither of RSA nor of an elliptic curve")
        found.append({**said, "kid": kid, "use": "sig"})
    return json.dumps({"keys": found}, indent=2).encode() + b"\n"


def write_new(file: Path, content: bytes) -> None:
    """Write a file that only its owner reads. Raises InvalidValue for one that is there."""
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidValue(f"{file} is there already: name another, or move it away") from None
    except OSError as error:
        raise InvalidValue(f"cannot write {file}: {error.strerror}") from None
    with os.fdopen(opened, "wb") as out:
        out.write(content)


def replace(file: Path, content: bytes) -> None:
    """Put a new content into a file that only its owner reads, at once. Raises InvalidValue."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    write_new(beside, content)
    try:
        beside.replace(file)
    except OSError as error:
        beside.unlink()
        raise InvalidValue(f"cannot write {file}: {error.strerror}") from None


def span_of(text: str) -> timedelta:
    """``90s``, ``10m``, ``12h``, ``7d``, ``4w``, ``1y``. Raises InvalidValue."""
    match = re.fullmatch(r"(\d{1,9})([smhdwy]?)", text.strip().lower())
    if match is None:
        raise InvalidValue(f"--expiry-time {text!r}: write a number and s, m, h, d, w or y, as 30d")
    return timedelta(seconds=int(match[1]) * _UNITS_S[match[2] or "s"])
