"""The schemas that the messages of one topic were written with, by their versions.

An entry of a version that is not known yet waits, with those behind it, until the broker has told
its schema: a caller that looks at a message's value then need not wait.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from magnetar.client.message import Decode
from magnetar.errors import MagnetarError, UndecodableValue
from magnetar.message.metadata import schema_version
from magnetar.model.schemas import SchemaInfo
from magnetar.schemas.schema import Encoded, Schema
from magnetar.tasks import Tasks
from magnetar.wire.frames import Frame

log = logging.getLogger(__name__)

VERSIONS_MAX: Final = 1000  # Versions that are kept; the one that was met first goes first.


class WriterSchemas:
    """What decodes the messages of one topic, for each version of its schema."""

    def __init__(
        self,
        topic: str,
        schema: Schema[Any],
        fetch: Callable[[str, bytes], Awaitable[SchemaInfo]],
        found: Callable[[], None],
        *,
        versions_max: int = VERSIONS_MAX,
    ) -> None:
        """``found`` is called when entries that were not ready may be."""
        self._topic = topic
        self._schema = schema
        self._fetch = fetch
        self._found = found
        self._versions_max = versions_max
        self._own = schema.decoder(None)
        self._decoders: dict[bytes, Decode] = {}
        self._asked: set[bytes] = set()
        self._tasks = Tasks(f"schemas of {topic}")

    def ready(self, frame: Frame) -> bool:
        """Whether the schema of an entry is known; if not, the broker is asked for it."""
        if not self._schema.evolves:
            return True
        version = schema_version(frame.entry) if frame.entry else None
        if not version or version in self._decoders:
            return True
        if version not in self._asked:
            self._asked.add(version)
            self._tasks.spawn("fetch", self._learn(version))
        return False

    def decode(self, version: bytes | None) -> Decode:
        """What decodes messages of a version: those that name none are of the schema itself."""
        if not version or not self._schema.evolves:
            return self._own
        return self._decoders.get(version) or _failing(
            f"version {version.hex()} of the schema of {self._topic} is not known: seek, or "
            "reconnect, to receive the message again"
        )

    async def close(self) -> None:
        await self._tasks.close()

    async def _learn(self, version: bytes) -> None:
        known = True
        decode: Decode
        try:
            decode = self._schema.decoder(await self._fetch(self._topic, version))
        except MagnetarError as error:
            log.warning(
                "consumer.schema_unknown topic=%s version=%s error=%s",
                self._topic,
                version.hex(),
                error,
            )
            known = not error.retriable
            decode = _failing(f"version {version.hex()} of the schema of {self._topic}: {error}")
        except Exception as error:  # A mistake of ours, or of a schema: the messages go on.
            log.exception("consumer.schema_failed topic=%s version=%s", self._topic, version.hex())
            decode = _failing(f"version {version.hex()} of the schema of {self._topic}: {error!r}")
        self._asked.discard(version)
        self._decoders[version] = decode
        if len(self._decoders) > self._versions_max:
            del self._decoders[next(iter(self._decoders))]
        self._found()
        if not known:  # The next entry asks again.
            self._decoders.pop(version, None)


def _failing(text: str) -> Decode:
    def fail(_: Encoded) -> object:
        raise UndecodableValue(text)

    return fail
