"""Brings a file of an older format up to date, in one transaction."""

import sqlite3
from typing import Final
from urllib.parse import unquote

from magnetar.storage.metadata import paths
from magnetar.storage.metadata.tables import MetadataTables

SCHEMA_VERSION: Final = 4
"""The version of the tables and records; 1 and 2 are older than the first release."""

UPGRADED: Final = 3
"""The version that differs in how paths encode names: a space, ``~`` and ``*`` are otherwise."""

_ENCODED: Final = (
    paths.PARTITIONED_TOPICS,
    paths.TOPIC_POLICIES,
    paths.MANAGED_LEDGERS,
    paths.SCHEMAS,
    paths.DELETIONS,
)


def upgrade(connection: sqlite3.Connection) -> None:
    """Move the records whose names are encoded otherwise now. Raises CorruptEntry."""
    tables = MetadataTables(connection)
    with tables.transaction(writes=True):
        for path in tables.changes_since(-1).paths:
            moved = _as_now(path)
            record = tables.get(path) if moved != path else None
            if record is not None:
                tables.delete(path, expected_version=None)
                tables.put(moved, record.value, expected_version=None, session=None)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _as_now(path: str) -> str:
    for prefix in _ENCODED:
        if path.startswith(f"{prefix}/"):
            names = path.removeprefix(prefix).split("/")
            return prefix + "/".join(paths.encode(unquote(name)) for name in names)
    return path
