"""Forms with files, as ``multipart/form-data`` (RFC 7578): read, and written. Pure.

A part begins with its headers and an empty line; before each stands the boundary, which is in no
part, in a line of its own: ``--boundary``. After the last one it is ``--boundary--``.

It is done by hand because the bytes are all here: aiohttp reads forms from a connection's stream
and writes them to one, and ``email`` goes line by line, 23 times as long for a package of 20 MiB.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from magnetar.errors import InvalidValue

TYPE: Final = "multipart/form-data"
_BOUNDARY: Final = re.compile(r'boundary="?([^";,]+)"?', re.IGNORECASE)
_NAME: Final = re.compile(rb'[; ]name="?([^";\r]*)"?', re.IGNORECASE)
_FILE: Final = re.compile(rb'filename="?([^";\r]*)"?', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """A field of a form."""

    data: bytes
    file_name: str = ""
    content_type: str = "text/plain"

    @property
    def text(self) -> str:
        """The field as text. Raises InvalidValue when it is none."""
        try:
            return self.data.decode()
        except UnicodeDecodeError as error:
            raise InvalidValue(f"a field of the form is not UTF-8: {error}") from None


def parts_of(content_type: str, body: bytes) -> dict[str, Part]:
    """The fields of a form by name; of two of one name the last. Raises InvalidValue."""
    found = _BOUNDARY.search(content_type)
    if not content_type.lower().startswith(TYPE) or found is None:
        raise InvalidValue(f"the body is {content_type or 'of no type'}: send {TYPE}")
    line = b"--" + found[1].encode()
    parts: dict[str, Part] = {}
    for section in (b"\r\n" + body).split(b"\r\n" + line)[1:]:
        if section.startswith(b"--"):
            return parts
        headers, gap, data = section.partition(b"\r\n\r\n")
        name = _NAME.search(headers)
        if not gap or name is None:
            raise InvalidValue("a part of the form has no name: give Content-Disposition")
        file = _FILE.search(headers)
        parts[name[1].decode(errors="replace")] = Part(
            data, "" if file is None else file[1].decode(errors="replace")
        )
    raise InvalidValue("the form has no end: its last line is the boundary and two dashes")


def form(parts: Mapping[str, Part], boundary: str) -> tuple[str, bytes]:
    """The content type and the body of a form. ``boundary`` is in none of its parts."""
    body = bytearray()
    for name, part in parts.items():
        file = f'; filename="{part.file_name}"' if part.file_name else ""
        body += f"--{boundary}\r\nContent-Disposition: form-data; ".encode()
        body += f'name="{name}"{file}\r\nContent-Type: {part.content_type}\r\n\r\n'.encode()
        body += part.data + b"\r\n"
    body += f"--{boundary}--\r\n".encode()
    return f"{TYPE}; boundary={boundary}", bytes(body)
