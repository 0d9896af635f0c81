import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.history import all_kinds, batched, encrypted, opened, single, write

from magnetar import inner
from magnetar.errors import CorruptEntry, EntryNotFound
from magnetar.history import message_rows


def read_all(file, count_max=3, bytes_max=1_000):
    data, checksums = [], []
    while len(data) < file.footer.entries:
        some, theirs = file.entries(len(data), count_max, bytes_max)
        assert 1 <= len(some) == len(theirs) <= count_max
        data += some
        checksums += theirs
    return data, checksums


def test_every_entry_comes_back_byte_for_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(message_rows, "GROUP_ROWS_MAX", 5)
    entries = all_kinds()
    write(tmp_path / "7.parquet", entries)
    with opened(tmp_path / "7.parquet") as file:
        assert len(file.footer.groups) > 3
        assert read_all(file) == (entries, list(map(inner.checksum, entries)))
        for first in reversed(range(len(entries))):  # In any order.
            assert file.entries(first, 1, 1)[0] == [entries[first]]


@given(st.lists(st.sampled_from(all_kinds()) | st.binary(max_size=60), min_size=1, max_size=12))
def test_any_entries_come_back(tmp_path_factory, entries):
    path = tmp_path_factory.mktemp("any") / "7.parquet"
    write(path, entries)
    with opened(path) as file:
        assert read_all(file)[0] == entries


def test_rows_are_read_by_row_group_and_column(tmp_path, monkeypatch):
    monkeypatch.setattr(message_rows, "GROUP_BYTES_MAX", 1)  # Each entry is one.
    write(tmp_path / "7.parquet", [single(b"one"), encrypted(), batched([b"two", b"three"])])
    with opened(tmp_path / "7.parquet") as file:
        values = [file.rows(group, ["value"])["value"].to_pylist() for group in range(3)]
        assert values == [[b"one"], [], [b"two", b"three"]]
        assert file.rows(2).column_names == message_rows.SCHEMA.names
        assert file.rows(1).schema == file.rows(2).schema


def test_an_entry_beyond_the_end_is_not_found(tmp_path):
    write(tmp_path / "7.parquet", [single(b"one")])
    with opened(tmp_path / "7.parquet") as file, pytest.raises(EntryNotFound):
        file.entries(1, 1, 1)


def test_damage_is_an_error(tmp_path):
    path = tmp_path / "7.parquet"
    footer = write(path, [single(bytes(range(256)) * 9)])
    whole = path.read_bytes()
    for place in (footer.groups[0].offset + 20, 300):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with opened(path) as file, pytest.raises(CorruptEntry):
            file.entries(0, 1, 1)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no Parquet at all" * 9])
def test_a_file_that_is_no_parquet_is_refused_by_name(tmp_path, content):
    (tmp_path / "7.parquet").write_bytes(content)
    with pytest.raises(CorruptEntry, match=r"7\.parquet is no Parquet file"):
        opened(tmp_path / "7.parquet")
