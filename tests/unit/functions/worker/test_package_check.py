"""What a package needs, and whether its class is there."""

import tracemalloc
import zipfile
from pathlib import Path

import pytest

from magnetar.errors import InvalidValue
from magnetar.functions.worker import package_check
from magnetar.functions.worker.package_check import check_package, main, missing

pytestmark = pytest.mark.slow


def module(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "checked_function.py"
    file.write_text(text)
    return file


def packed(tmp_path: Path, **files: str) -> Path:
    file = tmp_path / "checked.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), text)
    return file


def test_imports_that_are_not_installed_are_named_with_their_line(tmp_path):
    file = module(
        tmp_path,
        "import json\nimport absent_one.part\nfrom absent_two import x\nimport pulsar\n"
        "from . import near\ntry:\n    import absent_three\nexcept ImportError:\n    pass\n"
        "def process(input):\n    import absent_four\n",
    )
    assert list(missing(file)) == [
        "checked_function.py line 2 imports absent_one, which is not installed",
        "checked_function.py line 3 imports absent_two, which is not installed",
        "checked_function.py line 11 imports absent_four, which is not installed",
    ]


def test_what_a_package_brings_or_requires(tmp_path):
    file = packed(
        tmp_path,
        orders__main_dot_py="import orders.total\nimport helper\nimport brought\nimport away\n",
        orders__total_dot_py="",
        helper_dot_py="",
        deps__brought_dot_whl="",
        requirements_dot_txt="# a comment\naiohttp>=3\nabsent-thing==1\n",
    )
    assert list(missing(file)) == [
        "requirements.txt requires absent-thing==1, which is not installed",
        "orders/main.py line 4 imports away, which is not installed",
    ]


def test_a_wheel_says_what_it_requires(tmp_path):
    file = tmp_path / "thing-1-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        text = "Name: thing\nRequires-Dist: absent (>=1)\nRequires-Dist: x; extra == 'y'\n"
        archive.writestr("thing-1.dist-info/METADATA", text)
    assert list(missing(file)) == [
        "thing-1.dist-info/METADATA requires absent (>=1), which is not installed"
    ]


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("def process(i): pass", "checked_function", ""),
        ("class F:\n  def process(self, i, c): pass", "checked_function.F", ""),
        ("x = 1", "checked_function.F", "F is not found in checked_function.py"),
        ("import absent_one", "checked_function", "install it where the functions worker runs"),
        ("1/0", "checked_function", "ZeroDivisionError"),
        ("def f(:", "checked_function", "SyntaxError"),
        ("raise SystemExit(3)", "checked_function", "SystemExit"),
    ],
)
def test_the_class_has_to_be_there(tmp_path, capsys, text, name, said):
    code = main(module(tmp_path, text), name)
    assert (code, said in capsys.readouterr().out) == (1 if said else 0, True)


async def test_it_is_checked_in_a_process_of_its_own(tmp_path):
    await check_package(module(tmp_path, "def process(i): pass"), "checked_function")
    with pytest.raises(InvalidValue, match="imports absent_one, which is not installed"):
        await check_package(module(tmp_path, "import absent_one"), "checked_function")
    with pytest.raises(InvalidValue, match="its import ends the process"):
        await check_package(module(tmp_path, "import os; os._exit(3)"), "checked_function")


async def test_code_that_prints_without_end_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(package_check, "TIMEOUT_S", 2.0)
    file = module(tmp_path, "import sys\nwhile True: sys.stdout.write('x' * 1_000_000)\n")
    tracemalloc.start()
    with pytest.raises(InvalidValue, match="was not imported within 2 s"):
        await check_package(file, "checked_function")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * 1024 * 1024
