import io

import pytest
from support.history import TOPIC, all_kinds, single

from magnetar import inner
from magnetar.history import worker
from magnetar.history.file_reader import LedgerFile
from magnetar.history.worker import Worker, frames
from magnetar.storage.ledger.offload_frames import entries_body, frame, parse_entries
from magnetar.storage.ledger.store import LedgerEntries


def entries(data, checksums=None):
    body = entries_body(LedgerEntries(data, checksums or list(map(inner.checksum, data))))
    return frame({"do": "entries"}, body)


FINISH = frame({"do": "finish"})


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


class World:
    def __init__(self, folder):
        self.folder = folder
        self.wanted = True

    def asked(self, do, name="7-a.parquet", **more):
        return frame({"do": do, "url": self.folder.as_uri(), "options": {}, "name": name, **more})

    def offload(self, name="7-a.parquet"):
        return self.asked("offload", name, topic=TOPIC, partition=-1, ledgerId=7)

    def read(self, first=0, name="7-a.parquet"):
        return self.asked("read", name, first=first, count=100, bytes=1 << 20)

    def answers(self, *sent):
        answers = io.BytesIO()
        Worker(lambda: self.wanted).serve(io.BytesIO(b"".join(sent)), answers)
        return list(frames(io.BytesIO(answers.getvalue())))

    @property
    def files(self):
        return sorted(each.name for each in self.folder.iterdir())


def test_a_ledger_is_written_verified_and_read(world):
    data = all_kinds()
    parts = [entries(data[:5]), entries(data[5:]), FINISH]
    written, found = world.answers(world.offload(), *parts, world.read())
    assert written.header.keys() == {"rows", "missing"}
    assert written.header["missing"] == "3"
    assert parse_entries(found.body).data == data


def test_a_copy_that_is_not_what_was_sent_is_deleted(world):
    wrong = [entries([single(b"one")], [7]), FINISH]
    refused, deleted = world.answers(world.offload(), *wrong, world.asked("delete"))
    assert refused.header["error"] == "CorruptEntry"
    assert deleted.header == {}
    assert world.files == []


def test_after_an_error_the_next_request_is_answered(world, monkeypatch):
    monkeypatch.setattr(worker, "LedgerFileWriter", 1 / 2)
    parts = [entries([single(b"one")])] * 3
    broken, read = world.answers(world.offload(), *parts, FINISH, world.read())
    assert broken.header["error"] == "StorageError"
    assert "TypeError" in broken.header["message"]
    assert read.header["error"] == "LedgerNotFound"


def test_what_the_broker_did_not_finish_is_no_file(world):
    assert world.answers(world.offload(), entries([single(b"one")])) == []
    assert world.answers(world.offload()[:-3]) == []
    assert world.files == []


def test_nothing_comes_into_being_for_a_broker_that_is_gone(world):
    world.wanted = False
    assert world.answers(world.offload(), entries([single(b"one")]), FINISH) == []
    assert world.files == []


def test_what_another_attempt_left_is_deleted(world):
    for name in ("7-old.parquet", "7-older.parquet", "70-other.parquet"):
        (world.folder / name).write_bytes(b"")
    world.answers(world.offload(), entries([single(b"one")]), FINISH)
    assert world.files == ["7-a.parquet", "70-other.parquet"]


def test_few_files_are_kept_open(world, monkeypatch):
    closed = []
    monkeypatch.setattr(LedgerFile, "close", lambda file: closed.append(file.name))
    names = [f"{n}-a.parquet" for n in range(6)]
    sent = [
        part for name in names for part in (world.offload(name), entries([single(b"one")]), FINISH)
    ]
    monkeypatch.setattr(worker, "_delete_other_attempts", lambda *_: None)
    world.answers(*sent)
    closed.clear()
    reads = [world.read(name=name) for name in (*names[:4], names[0], *names[4:])]
    assert len(world.answers(*reads)) == 7
    assert closed == [names[1], names[2]]
