import pytest
from pyiceberg.catalog.sql import SqlCatalog
from support.history import batched, single, write

from magnetar.history.iceberg import register


@pytest.fixture
def catalog(tmp_path):
    made = SqlCatalog(
        "test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=(tmp_path / "tables").as_uri()
    )
    yield made
    made.close()


@pytest.fixture
def files(tmp_path):
    for ledger_id in (7, 8, 9):
        entries = [batched([b"one", b"two"]), single(b"three", properties={"a": "b"})]
        write(tmp_path / f"{ledger_id}.parquet", entries, ledger_id=ledger_id)
    return [(tmp_path / f"{ledger_id}.parquet").as_uri() for ledger_id in (7, 8, 9)]


def ledgers(catalog):
    rows = catalog.load_table("shop.orders").scan().to_arrow().to_pylist()
    return sorted(row["message_id"]["ledger_id"] for row in rows)


def test_files_become_a_table_as_they_are_offloaded(catalog, files):
    assert register(catalog, "shop.orders", files[:2]) == files[:2]
    assert register(catalog, "shop.orders", files) == files[2:]
    assert register(catalog, "shop.orders", files) == []
    assert ledgers(catalog) == [7] * 3 + [8] * 3 + [9] * 3
    table = catalog.load_table("shop.orders")
    assert table.scan(row_filter="message_id.ledger_id > 8").to_arrow().num_rows == 3


def test_files_of_trimmed_ledgers_leave_it(catalog, files):
    register(catalog, "shop.orders", files[:2])
    assert register(catalog, "shop.orders", files[1:]) == files[2:]
    assert ledgers(catalog) == [8] * 3 + [9] * 3
