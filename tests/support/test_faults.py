import errno
import threading
from random import Random

import pytest
from support.faults import SECTOR, FaultyFiles


@pytest.fixture
def files():
    return FaultyFiles()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file"


def outcomes(tmp_path, story):
    """What a story may leave on disk, over many losses of power."""
    results = set()
    for seed in range(60):
        folder = tmp_path / str(seed)
        folder.mkdir()
        files = FaultyFiles()
        story(files, folder)
        files.lose_power(Random(seed))
        results.add(tuple((each.name, each.read_bytes()) for each in sorted(folder.iterdir())))
    return results


def test_without_faults_it_is_a_disk(files, path):
    file = files.open(path, create=True)
    file.write([b"one", b"two"], 0)
    file.sync()
    assert file.read(1, 4) == b"netw"
    file.truncate(4)
    assert file.size() == 4
    file.close()
    files.rename(path, path.with_name("new"))
    files.sync_folder(path.parent)
    assert files.names(path.parent) == ["new"]
    assert (files.writes, files.syncs, files.folder_syncs) == (1, 1, 1)
    files.remove(path.with_name("new"))
    files.remove(path.with_name("new"))
    assert files.names(path.parent) == []


def test_a_failed_write_stops_half_way(files, path):
    file = files.open(path, create=True)
    files.fail_writes(errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        file.write([b"12345678"], 0)
    assert path.read_bytes() == b"1234"
    file.write([b"12345678"], 0)
    assert path.read_bytes() == b"12345678"


def test_faults_strike_files_by_name(files, path):
    files.fail_syncs(name="other")
    file = files.open(path, create=True)
    file.sync()
    files.rename(path, path.with_name("other"))
    with pytest.raises(OSError, match="Input/output"):
        file.sync()


def test_a_full_disk_takes_what_fits(files, path):
    files.space_left = 10
    file = files.open(path, create=True)
    file.write([b"12345678"], 0)
    file.write([b"87654321"], 0)  # Nothing grows.
    with pytest.raises(OSError, match="No space") as refused:
        file.write([b"12345678"], 8)
    assert refused.value.errno == errno.ENOSPC
    assert path.read_bytes() == b"8765432112"
    file.truncate(4)
    assert files.space_left == 6
    files.remove(path)
    assert files.space_left == 10
    files.repair()
    files.open(path, create=True).write([b"x" * 100], 0)


def test_syncs_are_held_until_they_are_let_go(files, path):
    file = files.open(path, create=True)
    done = threading.Event()

    def sync():
        file.sync()
        done.set()

    with files.hold_syncs():
        thread = threading.Thread(target=sync)
        thread.start()
        assert files.sync_waits.wait(10)
        assert not done.is_set()
    assert done.wait(10)
    thread.join()


def test_with_the_power_cut_nothing_changes(files, path):
    file = files.open(path, create=True)
    file.write([b"old"], 0)
    files.cut_power()
    for attempt in (
        lambda: file.write([b"new"], 0),
        file.sync,
        lambda: file.truncate(1),
        lambda: files.rename(path, path.with_name("new")),
        lambda: files.remove(path),
        lambda: files.sync_folder(path.parent),
        lambda: files.open(path.with_name("other"), create=True),
    ):
        with pytest.raises(OSError, match="the power is cut"):
            attempt()
    assert file.read(0, 10) == b"old"
    files.restore_power()
    file.write([b"new"], 0)
    assert path.read_bytes() == b"new"


def test_what_was_synced_survives(tmp_path):
    def story(files, folder):
        file = files.open(folder / "file", create=True)
        file.write([b"synced"], 0)
        file.sync()
        files.sync_folder(folder)

    assert outcomes(tmp_path, story) == {(("file", b"synced"),)}


def test_sectors_that_were_not_synced_come_and_go_alone(tmp_path):
    old, new = b"o" * SECTOR, b"n" * SECTOR

    def story(files, folder):
        file = files.open(folder / "file", create=True)
        file.write([old * 2], 0)
        file.sync()
        files.sync_folder(folder)
        file.write([new * 2], 0)

    contents = {content for ((_, content),) in outcomes(tmp_path, story)}
    assert contents == {old + old, old + new, new + old, new + new}


def test_a_new_length_may_come_without_its_bytes(tmp_path):
    def story(files, folder):
        file = files.open(folder / "file", create=True)
        file.sync()
        files.sync_folder(folder)
        file.write([b"new"], 0)

    contents = {content for ((_, content),) in outcomes(tmp_path, story)}
    assert contents == {b"", b"\0\0\0", b"new"}


def test_after_a_failed_sync_a_good_one_does_not_help(tmp_path):
    def story(files, folder):
        file = files.open(folder / "file", create=True)
        file.write([b"old"], 0)
        file.sync()
        files.sync_folder(folder)
        file.write([b"new"], 0)
        files.fail_syncs()
        with pytest.raises(OSError, match="Input/output"):
            file.sync()
        file.sync()
        assert file.read(0, 3) == b"new"

    assert outcomes(tmp_path, story) == {(("file", b"old"),)}


def test_changes_to_a_folder_are_undone_from_the_last_one_back(tmp_path):
    def story(files, folder):
        files.open(folder / "a", create=True).sync()
        files.sync_folder(folder)
        files.rename(folder / "a", folder / "b")
        files.open(folder / "c", create=True)
        files.remove(folder / "b")

    names = {tuple(name for name, _ in outcome) for outcome in outcomes(tmp_path, story)}
    assert names == {("a",), ("b",), ("b", "c"), ("c",)}
