"""The files of functions, as messages: each in a topic of its own, and cached in a folder.

A package is named by the SHA-256 of its bytes, so that it is stored once, and read whole or not.
"""

import asyncio
import hashlib
import shutil
from pathlib import Path, PurePath
from typing import Final
from urllib.parse import quote
from uuid import uuid4

from magnetar.client.client import Client
from magnetar.errors import NotFound, NotReady, TopicNotFound
from magnetar.functions.worker.admin import Admin
from magnetar.functions.worker.metadata import NAMESPACE

_READ_TIMEOUT_S: Final = 30.0


class Packages:
    """The packages that functions need."""

    def __init__(self, client: Client, admin: Admin, folder: Path) -> None:
        """``folder`` caches what is in the topics."""
        self._client = client
        self._admin = admin
        self._folder = folder

    async def keep(self, data: bytes) -> str:
        """Store a file, unless it is stored already. Returns the name of the package."""
        name = hashlib.sha256(data).hexdigest()
        try:
            await self.read(name)
        except NotFound:
            await self._write(_topic(name), data)
        return name

    async def read(self, name: str) -> bytes:
        """The bytes of a package. Raises NotFound."""
        data = await self._newest(_topic(name), name)
        if data is None:
            raise NotFound(f"there is no package {name}: update the function with its file")
        return data

    async def file(self, name: str, file_name: str) -> Path:
        """A package as a file, called as it was where it came from. Raises NotFound."""
        path = self._folder / name / PurePath(file_name).name
        if not await asyncio.to_thread(path.is_file):
            data = await self.read(name)
            await asyncio.to_thread(_write_whole, path, data)
        return path

    async def delete(self, name: str) -> None:
        """Forget a package, in the cache too."""
        await self._admin.delete_topic(_topic(name))
        await asyncio.to_thread(shutil.rmtree, self._folder / name, ignore_errors=True)

    async def upload(self, path: str, data: bytes) -> None:
        """Store a file under a name that its owner chose; the last one counts."""
        await self._write(_uploaded(path), data)

    async def download(self, path: str) -> bytes:
        """Read what was uploaded last under a name. Raises NotFound."""
        data = await self._newest(_uploaded(path), None)
        if data is None:
            raise NotFound(f"nothing was uploaded to {path}")
        return data

    async def _write(self, topic: str, data: bytes) -> None:
        async with await self._client.create_producer(topic, chunking=True) as producer:
            await producer.send(data)

    async def _newest(self, topic: str, digest: str | None) -> bytes | None:
        """The last message of a topic, or the first one with this digest; None: there is none."""
        found: bytes | None = None
        try:
            await self._client.partitions(topic)
        except TopicNotFound:
            return None
        async with await self._client.create_reader(topic) as reader:
            while await reader.has_message_available():
                try:
                    message = await reader.receive(timeout_s=_READ_TIMEOUT_S)
                except TimeoutError as error:
                    raise NotReady(f"the package in {topic} cannot be read: {error}") from error
                found = message.data
                if digest is not None and hashlib.sha256(found).hexdigest() == digest:
                    return found
        return None if digest is not None else found


def _topic(name: str) -> str:
    return f"persistent://{NAMESPACE}/package-{name}"


def _uploaded(path: str) -> str:
    return f"persistent://{NAMESPACE}/upload-{quote(path, safe='')}"


def _write_whole(path: Path, data: bytes) -> None:
    """Two functions of one package may fetch it at once: each writes a file of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{uuid4().hex}")
    unfinished.write_bytes(data)
    unfinished.replace(path)
