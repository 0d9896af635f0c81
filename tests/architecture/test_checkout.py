"""``make``, ``setup.sh`` and ``.ci/run`` work in a folder of any name: they quote what they use.

What they start is played by a script that notes where it was started, and with what. It makes and
installs nothing, so this takes moments; ``make run`` and ``make test`` show the rest.
"""

import shutil
import subprocess
import sys

import pytest
from architecture.source import ROOT

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="they are for POSIX shells"),
    pytest.mark.slow,
]

SYSTEM = "/usr/bin:/bin"
TOOL = """\
#!/bin/sh
printf '%s' "$PWD: ${0##*/}" >>"$NOTES"
for each; do printf ' [%s]' "$each" >>"$NOTES"; done
echo >>"$NOTES"
case "$*" in
  *"import ensurepip"*) [ -z "$BARE" ] ;;
  *"import magnetar.inner"*) [ -z "$PLAIN" ] ;;
  *sysconfig*) echo /nowhere ;;
  *perf_counter*) echo 1 ;;  # So few microseconds that setup.sh prefers it to every real Python.
  "-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
esac
"""


def write_tool(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TOOL)
    path.chmod(0o755)
    return path


@pytest.fixture(params=["magnetar", "two words/magnetar", "it's (mine)"])
def checkout(request, tmp_path):
    """What the commands are made of, in a folder of that name; no ``.venv``."""
    folder = tmp_path / request.param
    for name in ("Makefile", "setup.sh", "setup.py", "pyproject.toml", ".ci/run"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def said():
    """The lines that the last command said."""
    return []


@pytest.fixture
def run(tmp_path, said):
    """Run a command; what it started, a line for each."""
    notes = tmp_path / "notes"

    def run(*command, **environment):
        notes.write_text("")
        settings = {"PATH": SYSTEM, "NOTES": str(notes), "BARE": "", "PLAIN": "", **environment}
        done = subprocess.run(
            command, check=True, cwd=tmp_path, env=settings, stdout=subprocess.PIPE, text=True
        )
        said[:] = done.stdout.splitlines()
        return notes.read_text().splitlines()

    return run


def test_setup_takes_the_fastest_python_of_any_folder_and_installs_here(checkout, run, tmp_path):
    python = write_tool(tmp_path / "my tools" / "python3.11")
    started = run(checkout / "setup.sh", PATH=f"{python.parent}:{SYSTEM}")
    assert f"{checkout}: python3.11 [-m] [venv] [.venv]" in started
    installs = [line for line in started if "[pip] [install]" in line]
    assert installs[-1].startswith(f"{checkout}: python [-m] [pip] [install]")
    assert installs[-1].endswith("[-e] [.[quickstart,dev]]")


def test_setup_takes_the_python_it_is_told_even_one_without_ensurepip(checkout, run, tmp_path):
    python = write_tool(tmp_path / "my tools" / "snake")
    started = run(checkout / "setup.sh", PYTHON=str(python), BARE="yes")
    assert f"{checkout}: snake [-m] [venv] [--without-pip] [.venv]" in started
    into = f"{checkout}: snake [-m] [pip] [--python] [.venv/bin/python] [install] [-q] [pip]"
    assert into in started


@pytest.mark.parametrize("compiler", ["true", "no-such-compiler"])
def test_setup_says_why_the_inner_loops_are_not_compiled(checkout, run, tmp_path, said, compiler):
    python = write_tool(tmp_path / "snake")
    run(checkout / "setup.sh", PYTHON=str(python), PLAIN="yes", CC=compiler)
    [line] = [line for line in said if "inner loops" in line]
    assert "not compiled: there is no " in line
    assert ("/nowhere/Python.h" if compiler == "true" else "C compiler (apt-get") in line
    assert "./setup.sh tries again" in line
    run(checkout / "setup.sh", PYTHON=str(python))
    assert not [line for line in said if "inner loops" in line]


def test_make_and_ci_run_what_is_in_the_checkout(checkout, run):
    for name in ("python", "magnetar", "ruff", "mypy", "lint-imports"):
        write_tool(checkout / ".venv" / "bin" / name)
    ready = checkout / ".venv" / ".ready"
    ready.touch()
    words = "ARGS=-k 'one or two'"
    assert run("make", "-C", checkout, "run") == [f"{checkout}: python [examples/quickstart]"]
    tests = [f"{checkout}: python [-m] [pytest] [-n] [auto] [-m] [not long] [-k] [one or two]"]
    assert run("make", "-C", checkout, "test", words) == tests
    started = run(checkout / ".ci" / "run", CHROMIUM="no")
    assert [line.removeprefix(f"{checkout}: ").split()[0] for line in started] == [
        "ruff",
        "ruff",
        "mypy",
        "mypy",
        "lint-imports",
        "python",  # generate/blocking.py
        "python",  # generate/options.py
        "python",  # The tests, those that take long, and some with the plain inner loops.
        "python",
        "python",
    ]
