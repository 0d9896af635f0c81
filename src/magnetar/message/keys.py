"""Keys as bytes. Pure."""

from base64 import b64decode


def decoded_key(key: bytes) -> bytes:
    """The key that its sender wrote in base64; as it came if it is not the base64 it should be."""
    try:
        return b64decode(key, validate=True)
    except ValueError:
        return key
