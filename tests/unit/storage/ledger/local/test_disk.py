import errno
import os
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magnetar.errors import StoreLocked
from magnetar.storage.ledger.local.disk import (
    DIRECT_BLOCK,
    DIRECT_MIN,
    IOV_MAX,
    FolderLock,
    RealFiles,
)


@pytest.fixture
def file(tmp_path):
    file = RealFiles().open(tmp_path / "file", create=True)
    yield file
    file.close()


@pytest.mark.parametrize(
    "pieces",
    [
        [b"one"],
        [b"a", b"", b"b"],
        [b"x" * 10_000, b"y" * 10_000],
        [bytes([n % 256]) * 5000 for n in range(2 * IOV_MAX + 5)],
        [bytes([n % 256]) for n in range(5000)],
        [b""],
    ],
)
def test_pieces_are_written_one_behind_the_other(file, pieces):
    file.write(pieces, 100)
    whole = b"".join(pieces)
    assert file.read(100, len(whole) + 10) == whole
    assert file.size() == (100 + len(whole) if whole else 0)


@settings(max_examples=30)
@given(
    offset=st.integers(0, 3 * DIRECT_BLOCK),
    sizes=st.lists(
        st.one_of(
            st.integers(0, 20_000),
            st.integers(-3, 3).map(lambda near: DIRECT_MIN + near),
            st.integers(-3, 3).map(lambda near: 2 * 1024 * 1024 + near),
        ),
        min_size=1,
        max_size=8,
    ),
)
def test_large_writes_past_the_cache_are_what_is_read(tmp_path_factory, offset, sizes):
    file = RealFiles().open(tmp_path_factory.mktemp("d") / "file", create=True, direct=True)
    pieces = [random.Random(size).randbytes(size) for size in sizes]
    whole = b"".join(pieces)
    try:
        file.write([b"before" * 3000], 0)
        file.write(pieces, offset)
        file.write([b"behind"], offset + len(whole))
        file.sync()
        assert file.read(0, offset) == (b"before" * 3000)[:offset]
        assert file.read(offset, len(whole) + 6) == whole + b"behind"
    finally:
        file.close()


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.integers(1, 10_000),
            st.integers(-5000, 5000).map(lambda near: DIRECT_MIN + near),
            st.integers(-5000, 5000).map(lambda near: 2 * 1024 * 1024 + near),
            st.sampled_from(["cut", "opened again"]),
        ),
        min_size=2,
        max_size=12,
    )
)
def test_what_a_log_appends_is_read_whatever_way_it_went(tmp_path_factory, steps):
    """Each write begins where the one before ended, in the midst of a block or not."""
    path = tmp_path_factory.mktemp("d") / "file"
    file, reader = RealFiles().open(path, create=True, direct=True), RealFiles().open(path)
    model = b""
    try:
        for number, step in enumerate(steps):
            if step == "cut":
                model = model[: len(model) * 2 // 3]
                file.truncate(len(model))
            elif step == "opened again":
                file.close()
                file = RealFiles().open(path, direct=True)
            else:
                data = random.Random(number).randbytes(step)
                file.write([data[: step // 3], data[step // 3 :]], len(model))
                model += data
            assert reader.read(0, len(model)) == model
        behind = reader.read(len(model), reader.size())
        assert not behind.strip(b"\0"), "only zeros lie behind the end"
    finally:
        file.close()
        reader.close()


def test_what_a_large_write_left_is_forgotten_when_a_small_one_replaces_it(tmp_path):
    file = RealFiles().open(tmp_path / "file", create=True, direct=True)
    large = random.Random(1).randbytes(DIRECT_MIN + 100)
    file.write([large], 0)
    file.truncate(DIRECT_MIN)
    file.write([b"y" * 100], DIRECT_MIN)
    file.write([large], DIRECT_MIN + 100)
    whole = large[:DIRECT_MIN] + b"y" * 100 + large
    assert file.read(0, len(whole)) == whole
    file.close()


@pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="this system has no such writes")
def test_large_appends_are_one_call_each(tmp_path, monkeypatch):
    file = RealFiles().open(tmp_path / "file", create=True, direct=True)
    sizes = [DIRECT_MIN + 5, 2 * DIRECT_MIN, DIRECT_MIN + 4091]
    calls = []

    def counting(name):
        real = getattr(os, name)

        def call(fd, data, offset):
            calls.append((name, offset, sum(map(len, data)) if name == "pwritev" else len(data)))
            return real(fd, data, offset)

        return call

    for name in ("pwrite", "pwritev"):
        monkeypatch.setattr(os, name, counting(name))
    at = 77
    for size in sizes:
        file.write([b"x" * size], at)
        at += size
    file.close()
    assert [name for name, _, _ in calls] == ["pwrite"] * 3
    assert all(not offset % DIRECT_BLOCK and not size % DIRECT_BLOCK for _, offset, size in calls)


def test_small_writes_that_make_a_file_longer_leave_room_for_others(tmp_path):
    file = RealFiles().open(tmp_path / "log", create=True, direct=True)
    file.write([b"a" * 10], 0)
    size = file.size()
    for at in range(10, size, 1000):
        file.write([b"b" * min(1000, size - at)], at)
    assert file.size() == size
    file.write([b"c"], size)
    assert file.size() > size + 1
    assert file.read(0, file.size()).rstrip(b"\0") == b"a" * 10 + b"b" * (size - 10) + b"c"
    file.truncate(10)
    file.write([b"d" * 100], 10)
    assert file.read(0, 1000) == b"a" * 10 + b"d" * 100 + b"\0" * 890
    file.close()


def test_a_disk_without_room_for_more_takes_what_is_to_be_written(tmp_path, monkeypatch):
    file = RealFiles().open(tmp_path / "log", create=True, direct=True)
    pwritev = os.pwritev

    def full(fd, pieces, offset):
        if sum(map(len, pieces)) > 100:
            raise OSError(errno.ENOSPC, "No space left on device")
        return pwritev(fd, pieces, offset)

    monkeypatch.setattr(os, "pwritev", full)
    file.write([b"a" * 10], 0)
    assert file.read(0, 1000) == b"a" * 10
    file.close()


@pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="this system has no such writes")
@pytest.mark.parametrize("fails", ["open", "pwrite"])
def test_where_the_cache_cannot_be_passed_it_is_used(tmp_path, monkeypatch, fails):
    """As on file systems that say so when the file is opened, or only when it is written."""
    real = getattr(os, fails)
    refused = []

    def refuse(*arguments):
        if fails == "open" and not arguments[1] & os.O_DIRECT:
            return real(*arguments)
        refused.append(fails)
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, fails, refuse)
    file = RealFiles().open(tmp_path / "file", create=True, direct=True)
    data = random.Random(1).randbytes(3 * 1024 * 1024)
    file.write([data], 77)
    file.write([data], 77)
    assert file.read(77, len(data)) == data
    assert len(refused) == 1
    file.close()


@pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="this system has no such writes")
def test_blocks_the_disk_has_no_room_for_are_an_error(tmp_path, monkeypatch):
    file = RealFiles().open(tmp_path / "file", create=True, direct=True)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left") as kept:
        file.write([bytes(DIRECT_MIN)], 0)
    file.close()
    assert kept.value.errno == errno.ENOSPC


def test_a_short_write_is_carried_on(file, monkeypatch):
    real = os.pwritev
    offered = []

    def stingy(fd, pieces, offset):
        offered.append(offset)
        return real(fd, [b"".join(pieces)[:3000]], offset)

    monkeypatch.setattr(os, "pwritev", stingy)
    pieces = [b"a" * 5000, b"b" * 4999, b"c" * 5001]
    file.write(pieces, 0)
    assert len(offered) == 5
    assert file.read(0, 20_000) == b"".join(pieces)


def test_a_read_brings_what_is_there(file):
    file.write([b"0123456789"], 0)
    assert file.read(4, 3) == b"456"
    assert file.read(8, 10) == b"89"
    assert file.read(10, 10) == b""


def test_a_file_is_cut_to_a_size(file):
    file.write([b"0123456789"], 0)
    file.truncate(4)
    file.sync()
    assert file.size() == 4


def test_a_file_is_allocated_beforehand(file):
    file.write([b"0123456789"], 0)
    assert file.allocate(100_000)
    assert file.size() == 100_000
    assert file.read(0, 20) == b"0123456789" + bytes(10)
    assert file.allocate(50_000)  # It is longer already.
    assert file.size() == 100_000


def test_a_file_system_that_cannot_allocate_leaves_the_file_alone(file, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    assert not file.allocate(100_000)
    assert file.size() == 0


def test_a_full_disk_is_no_file_system_that_cannot_allocate(file, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(OSError, match="No space left"):
        file.allocate(100_000)


def test_files_are_renamed_and_removed(tmp_path):
    files = RealFiles()
    folder = tmp_path / "a" / "b"
    files.make_folder(folder)
    files.make_folder(folder)
    files.open(folder / "old", create=True).close()
    files.rename(folder / "old", folder / "new")
    files.sync_folder(folder)
    assert files.names(folder) == ["new"]
    files.remove(folder / "new")
    files.remove(folder / "new")
    assert files.names(folder) == []


def test_a_missing_file_is_not_made_by_opening_it(tmp_path):
    with pytest.raises(FileNotFoundError):
        RealFiles().open(tmp_path / "missing")


def test_a_folder_is_locked_once(tmp_path):
    lock = FolderLock.take(tmp_path)
    with pytest.raises(StoreLocked, match=f"{tmp_path} is in use by process {os.getpid()}"):
        FolderLock.take(tmp_path)
    lock.release()
    lock.release()
    FolderLock.take(tmp_path).release()


def test_a_lock_ends_with_its_process(tmp_path):
    take = "import sys, pathlib; from magnetar.storage.ledger.local.disk import FolderLock; "
    take += (
        "lock = FolderLock.take(pathlib.Path(sys.argv[1])); print('locked', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", take, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout.readline() == b"locked\n"
        with pytest.raises(StoreLocked, match=f"process {process.pid}"):
            FolderLock.take(tmp_path)
        process.kill()
    FolderLock.take(tmp_path).release()
