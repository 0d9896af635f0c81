"""Key pairs for encrypted messages, in files as OpenSSL writes them."""

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)


def write_keys(folder, *names, curve=False):
    """Write ``name.public.pem`` and ``name.private.pem`` into the folder for each name."""
    for name in names:
        key = (
            ec.generate_private_key(ec.SECP256R1())
            if curve
            else rsa.generate_private_key(65537, 2048)
        )
        (folder / f"{name}.private.pem").write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        )
        (folder / f"{name}.public.pem").write_bytes(
            key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        )
