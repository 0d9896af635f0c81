import os
import sys
import tempfile
import zipfile
from contextlib import closing

import pytest
from support.functions import CODE

from magnetar.compat.functions.function import Function
from magnetar.compat.functions.serde import IdentitySerDe
from magnetar.errors import InvalidValue
from magnetar.functions import loading
from magnetar.functions.loading import UserCode

FUNCTION = "from helper import factor\ndef process(input): return input * factor\n"


def test_a_class_inherits_from_ours_where_pulsar_is_imported():
    before = {name for name in sys.modules if name.partition(".")[0] == "pulsar"}
    with closing(UserCode(str(CODE))) as code:
        assert issubclass(code.find("user_code.Double"), Function) or before
    assert {name for name in sys.modules if name.partition(".")[0] == "pulsar"} == before


def test_a_module_is_found_and_pulsars_serde():
    with closing(UserCode(str(CODE))) as code:
        assert code.find("user_code").process(2) == 4
        assert code.find("serde.IdentitySerDe") is IdentitySerDe


def test_two_functions_may_have_modules_of_the_same_name(tmp_path):
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "main.py").write_text(f"def process(input): return {number}\n")
        with closing(UserCode(str(folder / "main.py"))) as code:
            assert code.find("main").process(0) == number


@pytest.mark.parametrize("inside", ["", "mine/src/"])
def test_a_zip_is_unpacked_also_one_laid_out_as_pulsars(tmp_path, inside):
    packed = tmp_path / "code.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"{inside}tripling/__init__.py", "")
        archive.writestr(f"{inside}tripling/main.py", FUNCTION)
        if inside:
            wheel = tmp_path / "helper.whl"
            with zipfile.ZipFile(wheel, "w") as dependency:
                dependency.writestr("helper.py", "factor = 3\n")
            archive.write(wheel, "mine/deps/helper.whl")
        else:
            archive.writestr("helper.py", "factor = 3\n")
    with closing(UserCode(str(packed))) as code:
        assert code.find("tripling.main").process(5) == 15


def test_what_is_missing_is_named():
    with closing(UserCode(str(CODE))) as code:
        with pytest.raises(InvalidValue, match=r"user_code\.Nothing is not found .*Write module"):
            code.find("user_code.Nothing")
        with pytest.raises(InvalidValue, match=r"nowhere\.Nothing is not found"):
            code.find("nowhere.Nothing")
    with pytest.raises(InvalidValue, match=r"there is no file /nowhere\.py"):
        UserCode("/nowhere.py")


def test_code_that_fails_to_import_says_why(tmp_path):
    (tmp_path / "broken.py").write_text("raise RuntimeError('no database')\n")
    code = UserCode(str(tmp_path / "broken.py"))
    with closing(code), pytest.raises(InvalidValue, match="RuntimeError: no database"):
        code.find("broken.Function")


def test_a_zip_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(loading, "UNPACKED_BYTES_MAX", 999)
    packed = tmp_path / "bomb.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data", bytes(1000))
    with pytest.raises(InvalidValue, match=r"bomb\.zip unpacks to 1,000 bytes, of 999 at most"):
        UserCode(str(packed))
    assert list(tmp_path.iterdir()) == [packed]


def test_a_folder_that_somebody_else_made_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    packed = tmp_path / "code.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("once_unpacked.py", "def process(input): return 'ours'\n")
    UserCode(str(packed)).close()
    (folder,) = tmp_path.glob("magnetar-function-*")
    (folder / "once_unpacked.py").write_text("def process(input): return 'theirs'\n")
    with monkeypatch.context() as patched:
        patched.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
        with closing(UserCode(str(packed))) as code:
            assert code.find("once_unpacked").process(0) == "ours"
