"""Where the metadata of ledgers are, below the root of a cluster. Pure.

BookKeeper's HierarchicalLedgerManager: the id is padded with zeros, to 10 digits or, from 2^31 - 1
on, to 19, and cut into parts of 2 (or 3), 4, ... digits, so that no node has many children.
"""

import re
from typing import Final

from magnetar.errors import InvalidValue

LONG_FROM: Final = 2**31 - 1

LAYOUT: Final = "LAYOUT"
AVAILABLE: Final = "available"
READ_ONLY: Final = "readonly"
COOKIES: Final = "cookies"
"""Has a record of each bookie that ever began, until it is taken out of the cluster."""
_FACTORY: Final = "org.apache.bookkeeper.meta.HierarchicalLedgerManagerFactory"
_PATH: Final = re.compile(r"/(\d\d)/(\d{4})/L(\d{4})|/(\d{3})/(\d{4})/(\d{4})/(\d{4})/L(\d{4})")


def path_of(ledger_id: int) -> str:
    """The path of a ledger."""
    if ledger_id < LONG_FROM:
        digits = f"{ledger_id:010}"
        return f"/{digits[:2]}/{digits[2:6]}/L{digits[6:]}"
    digits = f"{ledger_id:019}"
    return f"/{digits[:3]}/{digits[3:7]}/{digits[7:11]}/{digits[11:15]}/L{digits[15:]}"


def ledger_id_of(path: str) -> int | None:
    """The ledger of a path; None where it is none of a ledger."""
    match = _PATH.fullmatch(path)
    return int("".join(filter(None, match.groups()))) if match else None


def check_layout(layout: bytes) -> None:
    """Raises InvalidValue where the metadata of ledgers are elsewhere."""
    lines = layout.decode("utf-8", "replace").split("\n")
    factory = lines[1].partition(":")[0] if len(lines) > 1 else ""
    if factory != _FACTORY:
        raise InvalidValue(
            f"the ledgers of this cluster are laid out by {factory or lines[0]!r}: only "
            f"{_FACTORY}, BookKeeper's default, is supported"
        )


def new_cluster(instance_id: str) -> dict[str, bytes]:
    """What is at the root of a cluster that has no ledgers yet, in the order of writing it."""
    return {
        f"/{AVAILABLE}/{READ_ONLY}": b"",
        "/INSTANCEID": instance_id.encode(),
        f"/{LAYOUT}": f"2\n{_FACTORY}:1".encode(),
    }
