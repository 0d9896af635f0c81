import pytest

from magnetar.errors import InvalidValue
from magnetar.history.bucket import Bucket
from magnetar.history.folder import Folder
from magnetar.history.stores import store_at


def test_a_url_names_a_folder_or_a_bucket(tmp_path):
    folder = store_at(f"file://{tmp_path}/a%20b")
    assert isinstance(folder, Folder)
    with folder.writing("x") as file:
        file.write(b"1")
    assert (tmp_path / "a b" / "x").exists()
    assert isinstance(store_at("s3://bucket/folder", {"region": "eu-west-1"}), Bucket)


@pytest.mark.parametrize("url", ["/a/folder", "http://host/x", "ftp://host", ""])
def test_any_other_url_is_refused(url):
    with pytest.raises(InvalidValue, match="no place for files"):
        store_at(url)
