"""Asks bookies how full their disks are, for operators: on connections of its own."""

import asyncio
from typing import Final

from magnetar.errors import ConnectionLost, MagnetarError, TimedOut
from magnetar.storage.metadata.store import MetadataStore

from . import v3
from .bookie_watcher import address_in
from .client_tls import ClientTls
from .connector import Connector
from .ledger_paths import AVAILABLE, READ_ONLY
from .settings import BookKeeperSettings
from .v3 import Space

TIMEOUT_S: Final = 5.0


async def spaces_of_bookies(
    metadata: MetadataStore, settings: BookKeeperSettings
) -> dict[str, Space | MagnetarError]:
    """The disks of each bookie that is there, also of those that only read, or why it is silent.

    Raises what the store does, and InvalidValue where the files of TLS cannot be used.
    """
    available = f"{settings.ledgers_root}/{AVAILABLE}"
    names = {
        *await metadata.children(available),
        *await metadata.children(f"{available}/{READ_ONLY}"),
    } - {READ_ONLY}
    connector = Connector(None if settings.tls is None else ClientTls(settings.tls))

    async def ask(bookie_id: str) -> Space | MagnetarError:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                address = await address_in(metadata, available, bookie_id)
                questions = await connector.ask(address)
                try:
                    return v3.space_of(await questions.ask(v3.space_frame()))
                finally:
                    questions.close()
        except v3.Refused as error:
            return ConnectionLost(f"bookie {bookie_id} does not say how full it is: {error}")
        except TimeoutError:
            return TimedOut(f"bookie {bookie_id} did not answer in {TIMEOUT_S:g} s")
        except OSError as error:
            return ConnectionLost(f"bookie {bookie_id} cannot be reached: {error}")
        except MagnetarError as error:
            return error

    ordered = sorted(names)
    return dict(zip(ordered, await asyncio.gather(*map(ask, ordered)), strict=True))
