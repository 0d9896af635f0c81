import pytest

from magnetar.errors import InvalidValue
from magnetar.pipelines.transforms import find


def test_a_function_is_found_beside_the_file(tmp_path):
    (tmp_path / "mine.py").write_text("import beside\ndef double(x):\n    return beside.TWO * x\n")
    (tmp_path / "beside.py").write_text("TWO = 2\n")
    assert find("python", "mine.double", tmp_path)(21) == 42


def test_two_pipelines_may_have_modules_of_one_name(tmp_path):
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "same.py").write_text(f"def which():\n    return {number}\n")
    assert find("python", "same.which", tmp_path / "1")() == 1
    assert find("python", "same.which", tmp_path / "2")() == 2


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere.f", "there is no nowhere.py in"),
        ("json.dumps", "there is no json.py in"),
        ("broken.f", "broken cannot be imported: ZeroDivisionError: division by zero"),
        ("empty.f", "empty has no function f"),
    ],
)
def test_what_is_not_there_is_named(tmp_path, name, said):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "empty.py").write_text("f = 3\n")
    with pytest.raises(InvalidValue, match=said):
        find("steps.a.python", name, tmp_path)
