import pytest

from magnetar.auth.watched_file import WatchedFile
from magnetar.errors import InvalidValue


def test_a_file_is_read_again_when_it_changed(tmp_path, caplog):
    file = tmp_path / "users"
    file.write_bytes(b"one")
    watched = WatchedFile("basicAuthConf", str(file))
    assert watched.read() == b"one"
    assert watched.read_if_changed(bytes.decode) is None
    file.write_bytes(b"other")
    assert watched.read_if_changed(bytes.decode) == "other"
    assert watched.read_if_changed(bytes.decode) is None
    file.unlink()
    for _ in range(3):
        assert watched.read_if_changed(bytes.decode) is None
    assert caplog.text.count("authentication.file_not_read") == 1
    file.write_bytes(b"again")
    assert watched.read_if_changed(bytes.decode) == "again"


def test_content_in_the_setting_never_changes(tmp_path):
    watched = WatchedFile("x", "data:,abc")
    assert watched.read() == b"abc"
    assert watched.read_if_changed(bytes.decode) is None
    with pytest.raises(InvalidValue, match=f"^x: cannot read {tmp_path}/no"):
        WatchedFile("x", f"file://{tmp_path}/no").read()
