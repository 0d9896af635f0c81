"""What a setting says where a key is, read: a file, ``data:``, or the key in base64.

Errors name the setting and a file, and never show what may be a key.
"""

import base64
import binascii
from pathlib import Path
from typing import Final
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from magnetar.errors import InvalidValue

_PATH_LENGTH: Final = 255  # What is longer is a key.


def file_of(text: str) -> Path | None:
    """The file that such a text names; None where it is the content itself.

    What begins with a slash is a path, although it may be base64, too.
    """
    if text.startswith("file:"):
        return Path(unquote(urlsplit(text).path))
    if text.startswith(("/", "./", "../")):
        return Path(text)
    return Path(text) if len(text) < _PATH_LENGTH and Path(text).exists() else None


def read_key(setting: str, text: str) -> bytes:
    """The bytes of a key. Raises InvalidValue."""
    if text.startswith("data:"):
        return _of_data_url(setting, text)
    file = file_of(text)
    if file is not None:
        return read_file(setting, file)
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidValue(
            f"{setting} is neither a file that is there, nor file:///PATH, nor data:;base64,KEY, "
            "nor a key in base64: write it in one of these ways"
        ) from None


def read_file(setting: str, file: Path) -> bytes:
    """The content of a file. Raises InvalidValue."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InvalidValue(f"{setting}: cannot read {file}: {error.strerror}") from None
    if not content:
        raise InvalidValue(f"{setting}: {file} is empty")
    return content


def _of_data_url(setting: str, text: str) -> bytes:
    head, comma, content = text.removeprefix("data:").partition(",")
    if not comma:
        raise InvalidValue(f"{setting}: write data:;base64,KEY, with the comma")
    if not head.endswith(";base64"):
        return unquote_to_bytes(content)
    try:
        return base64.b64decode(content, validate=True)
    except binascii.Error:
        raise InvalidValue(f"{setting}: what follows data:;base64, is no base64") from None
