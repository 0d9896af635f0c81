from pathlib import Path

from magnetar.functions.worker import packages


def test_two_functions_may_fetch_the_file_of_one_package_at_once(tmp_path, monkeypatch):
    file = tmp_path / "package" / "code.py"
    write = Path.write_bytes

    def be_overtaken(path, data):
        monkeypatch.undo()
        written = write(path, data)
        packages._write_whole(file, data)
        return written

    monkeypatch.setattr(Path, "write_bytes", be_overtaken)
    packages._write_whole(file, b"code")
    assert {each.name: each.read_bytes() for each in file.parent.iterdir()} == {"code.py": b"code"}
