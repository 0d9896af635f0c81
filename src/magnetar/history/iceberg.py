"""Files of ledgers as an Iceberg table: registered where they are, without a copy."""

from collections.abc import Iterable

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError

from .message_rows import SCHEMA


def register(catalog: Catalog, table: str, files: Iterable[str]) -> list[str]:
    """Make the table have these files, by their URLs; return those that it did not have.

    The table is created where it does not exist, ``namespace.table``. Files that it has and that
    are not among these were trimmed with their ledgers, and leave it: that is a snapshot, so that
    who reads an earlier one finds files missing.
    """
    namespace = table.rpartition(".")[0]
    catalog.create_namespace_if_not_exists(namespace)
    try:
        known = catalog.load_table(table)
    except NoSuchTableError:
        known = catalog.create_table(table, SCHEMA)
    wanted = set(files)
    had = set(known.inspect.data_files()["file_path"].to_pylist())
    added = sorted(wanted - had)
    with known.transaction() as change:
        if gone := had - wanted:
            with change.update_snapshot().overwrite() as leaving:
                for task in known.scan().plan_files():
                    if task.file.file_path in gone:
                        leaving.delete_data_file(task.file)
        if added:
            change.add_files(added)
    return added
