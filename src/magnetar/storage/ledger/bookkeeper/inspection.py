"""Asks each bookie what operators want to know of it: on connections of its own."""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeVar

from magnetar.errors import ConnectionLost, MagnetarError, TimedOut
from magnetar.model.cluster_stores import DiskSpace
from magnetar.storage.metadata.store import MetadataStore

from . import v3
from .addresses import Address
from .bookie_watcher import address_in
from .client_tls import ClientTls
from .connector import Connector
from .ledger_paths import AVAILABLE, READ_ONLY
from .settings import BookKeeperSettings

T = TypeVar("T")

TIMEOUT_S: Final = 5.0
REFUSAL_S: Final = 0.5
"""A bookie that takes frames of a size waits for the rest; one that does not hangs up sooner."""

_SIZE: Final = struct.Struct(">I")


async def spaces_of_bookies(
    metadata: MetadataStore, settings: BookKeeperSettings
) -> dict[str, DiskSpace | MagnetarError]:
    """The disks of each bookie that is there, also of those that only read, or why it is silent.

    Raises what the store does, and InvalidValue where the files of TLS cannot be used.
    """
    connector = Connector(None if settings.tls is None else ClientTls(settings.tls))

    async def ask(address: Address) -> DiskSpace:
        questions = await connector.ask(address)
        try:
            return v3.space_of(await questions.ask(v3.space_frame()))
        except v3.Refused as error:
            raise ConnectionLost(f"it does not say how full it is: {error}") from error
        finally:
            questions.close()

    return await _ask_each(metadata, settings, ask)


async def frames_are_taken(
    metadata: MetadataStore, settings: BookKeeperSettings, size: int
) -> dict[str, bool | MagnetarError]:
    """Whether each bookie takes frames of so many bytes (``nettyMaxFrameSizeBytes``).

    It looks at the size that a frame begins with, so that no more need be sent. Raises what the
    store does.
    """

    async def ask(address: Address) -> bool:
        reader, writer = await asyncio.open_connection(*address)
        try:
            writer.write(_SIZE.pack(size - _SIZE.size))
            with suppress(TimeoutError):
                async with asyncio.timeout(REFUSAL_S):
                    await reader.read(1)
                    return False
        except ConnectionResetError:
            return False
        finally:
            writer.close()
        return True

    return await _ask_each(metadata, settings, ask)


async def _ask_each(
    metadata: MetadataStore,
    settings: BookKeeperSettings,
    ask: Callable[[Address], Awaitable[T]],
) -> dict[str, T | MagnetarError]:
    """What each bookie that is there answers, or why it does not."""
    available = f"{settings.ledgers_root}/{AVAILABLE}"
    names = {
        *await metadata.children(available),
        *await metadata.children(f"{available}/{READ_ONLY}"),
    } - {READ_ONLY}

    async def answer(bookie_id: str) -> T | MagnetarError:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await ask(await address_in(metadata, available, bookie_id))
        except TimeoutError:
            return TimedOut(f"bookie {bookie_id} did not answer in {TIMEOUT_S:g} s")
        except OSError as error:
            return ConnectionLost(f"bookie {bookie_id} cannot be reached: {error}")
        except MagnetarError as error:
            return error

    ordered = sorted(names)
    return dict(zip(ordered, await asyncio.gather(*map(answer, ordered)), strict=True))
