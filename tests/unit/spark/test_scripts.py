import subprocess
import sys

import pytest

from magnetar.spark.scripts import plain, plain_command, write_whole

unix_only = pytest.mark.skipif(sys.platform == "win32", reason="scripts are for shells")


def test_a_file_is_written_once_and_again_when_it_changes(tmp_path):
    path = tmp_path / "conf" / "settings"
    write_whole(path, "one")
    made = path.stat().st_ino
    write_whole(path, "one")
    assert path.stat().st_ino == made
    write_whole(path, "two")
    assert path.read_text() == "two"
    assert [each.name for each in path.parent.iterdir()] == ["settings"]


@unix_only
@pytest.mark.parametrize("path", ["/a b/c", "/it's", "/$HOME", "/a;b", "/a\tb", "/a*"])
def test_a_path_that_a_shell_would_change_is_not_plain(path):
    assert not plain(path)


@unix_only
@pytest.mark.parametrize("path", ["/usr/bin/python3.11", "/home/josé/my-code_2/+x"])
def test_ordinary_paths_are_plain(path):
    assert plain(path)
    assert plain_command(path, None) == path


@unix_only
@pytest.mark.parametrize("folder", ["a folder", "it's mine", 'say "x"'])
def test_a_command_in_any_folder_has_a_plain_name(tmp_path, folder):
    (tmp_path / folder).mkdir()
    inside = tmp_path / folder / "say"
    inside.write_text('#!/bin/sh\nfor each; do echo "$each"; done\n')
    inside.chmod(0o755)
    name = plain_command(str(inside), tmp_path / "scripts" / "say")
    assert plain(name)
    done = subprocess.run([name, "a b", "c"], capture_output=True, text=True, check=True)
    assert done.stdout == "a b\nc\n"
