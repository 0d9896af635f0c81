"""A reader of a page who does everything it says, in order, beside a broker of their own.

What a page calls ``localhost:6650`` and ``localhost:8080`` is that broker, and ``/var/lib`` is the
reader's folder. A command that would change the machine, need the network or take minutes is not
run: ``NOT_RUN`` has these with the reason, and with what is checked instead.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import click
import yaml
from documents.snippets import ROOT, Snippet, commands

from magnetar.testing.local_broker import BrokerThread
from magnetar.tools.cli import magnetar

TIMEOUT_S = 60
BIN = Path(sys.executable).parent
DEPLOY = ROOT / "src" / "magnetar" / "tools" / "deploy"
SERVES = re.compile(r"(\w+=\S+ )*(\.venv/bin/)?magnetar standalone\b")
TESTS = re.compile(r"(python -m )?pytest\b")


def knows_the_target(command: str) -> None:
    """``make`` would know what to do."""
    settings, _, words = command.rpartition("make ")
    done = _shell(f"{settings} make --dry-run {words}", ROOT)
    assert done.returncode == 0, done.stdout


def names_what_is_there(command: str) -> None:
    """The files of the repository, the units and the extras that it names are there."""
    for word in shlex.split(command, comments=True):
        if word.partition("/")[0] in {path.name for path in ROOT.iterdir()}:
            assert (ROOT / word).exists(), f"there is no {word}"
    for extras in re.findall(r"\.\[([\w,]+)\]", command):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        missing = set(extras.split(",")) - set(project["optional-dependencies"])
        assert not missing, f"there are no extras {missing}"
    for unit in re.findall(r"(?:systemctl .* |--unit )(\w+)$", command):
        assert (DEPLOY / f"{unit}.service").exists(), f"there is no unit {unit}"


def knows_the_options(command: str) -> None:
    """``magnetar`` would take these words."""
    context = click.Context(magnetar)
    words = shlex.split(command, comments=True)[1:]
    found: click.Command = magnetar
    while isinstance(found, click.Group):
        name, found, words = found.resolve_command(context, words)
        context = click.Context(found, parent=context, info_name=name)
    found.make_context(context.info_name, words, resilient_parsing=True)


NOT_RUN: list[tuple[str, str, Callable[[str], None]]] = [
    (r"(\w+=\S+ )*make ", "it takes minutes, or is what runs this test", knows_the_target),
    (r"(sudo )?(\S+/)?pip install ", "it needs the network", names_what_is_there),
    (r"(sudo )?(python3 -m venv|install|rm) ", "it changes the machine", names_what_is_there),
    (r"sudo \S+/magnetar export ", "it changes the machine", names_what_is_there),
    (r"magnetar pipelines ", "tests/spark/test_declared_pipelines.py does", names_what_is_there),
    (r"\w+=\w+ spark-pipelines ", "tests/spark/test_places.py does", names_what_is_there),
    (r"magnetar functions (?!test)", "tests/functions does, in Spark", knows_the_options),
    (r"(sudo )?(systemctl|journalctl) ", "it needs systemd", names_what_is_there),
]


class Reader:
    """Follows snippets; ``broker`` is theirs, and ``folder``, in which they type."""

    def __init__(self, folder: Path, broker: BrokerThread) -> None:
        self._folder = folder
        self._files_not_used: list[str] = []
        ports = [url.rpartition(":")[2] for url in (broker.service_url, broker.web_url)]
        self._ours = {
            "localhost:6650": f"localhost:{ports[0]}",
            "localhost:8080": f"localhost:{ports[1]}",
            "0.0.0.0": "127.0.0.1",  # Nothing that a test starts lets others in.
            " /var/lib/": f" {folder}/",
        }
        (folder / "standalone.conf").write_text((DEPLOY / "standalone.conf").read_text())
        (folder / ".venv").mkdir()
        (folder / ".venv" / "bin").symlink_to(BIN)

    def follow(self, snippet: Snippet) -> None:
        """Raises AssertionError where the page is wrong."""
        if snippet.file:
            file = self._folder / snippet.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self._here(snippet.text))
            self._files_not_used.append(snippet.file)
        else:
            RUNNERS[snippet.language](self, snippet)

    def finish(self) -> None:
        assert not self._files_not_used, f"nothing on the page uses {self._files_not_used}"

    def _run_program(self, snippet: Snippet) -> None:
        command = [sys.executable, "-W", "error", "-c", self._here(snippet.text)]
        done = subprocess.run(
            command,
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert bool(done.stdout) or "print(" not in snippet.text, "it printed nothing"

    def _read_settings(self, snippet: Snippet) -> None:
        (self._folder / "snippet.conf").write_text(snippet.text)
        self._type("magnetar config show --conf snippet.conf 2>&1 >/dev/null", "")

    def _read_pipeline(self, snippet: Snippet) -> None:
        """A piece of a pipeline's file, which is not named, is none that could be run."""
        yaml.safe_load(snippet.text)

    def _run_commands(self, snippet: Snippet) -> None:
        for command, printed in commands(snippet):
            others = [check for pattern, _, check in NOT_RUN if re.match(pattern, command)]
            if others:
                others[0](command)
            elif SERVES.match(command):
                self._serve(command)
            else:
                self._type(command, printed)
            self._files_not_used = [
                name
                for name in self._files_not_used
                if name not in command and not TESTS.match(command)
            ]

    def _type(self, command: str, printed: str) -> None:
        """Run a command, and compare what it prints; ``...`` stands for anything."""
        done = _shell(
            self._here(command), self._folder, PULSAR_ADMIN_URL=self._here("http://localhost:8080")
        )
        said = done.stdout
        for theirs, ours in self._ours.items():
            said = said.replace(ours, theirs)
        pattern = re.escape(printed.strip()).replace(r"\.\.\.", ".*")
        assert re.fullmatch(pattern, said.strip(), re.DOTALL), (
            f"$ {command}\nthe page has:\n{printed}\nwhere this comes:\n{said}"
        )
        assert printed != "..." or done.returncode == 0, said

    def _serve(self, command: str) -> None:
        """Start a broker on free ports, and stop it once it serves."""
        ports = {"MAGNETAR_BROKER_SERVICE_PORT": "0", "MAGNETAR_WEB_SERVICE_PORT": "0"}
        started = subprocess.Popen(
            ["bash", "-c", f"exec env {self._here(command)}"],
            cwd=self._folder,
            env={**_environment(), **ports},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert started.stdout is not None
        with started:
            first = started.stdout.readline()
            started.send_signal(signal.SIGTERM)
            _, errors = started.communicate(timeout=TIMEOUT_S)
        assert first.startswith("Magnetar is ready"), errors
        assert (started.returncode, errors) == (0, ""), f"it ended badly: {errors}"

    def _here(self, text: str) -> str:
        for theirs, ours in self._ours.items():
            text = text.replace(theirs, ours)
        return text


RUNNERS: dict[str, Callable[[Reader, Snippet], None]] = {
    "yaml": Reader._read_pipeline,
    "console": Reader._run_commands,
    "ini": Reader._read_settings,
    "python": Reader._run_program,
    "sh": Reader._run_commands,
}


def _environment() -> dict[str, str]:
    """Ours, with our commands on the path, and without what a ``make`` that runs us hands down."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    kept.pop("ARGS", None)
    kept["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # A reader has pytest, and not all of its plugins.
    return {**kept, "PATH": f"{BIN}{os.pathsep}{kept['PATH']}"}


def _shell(command: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**_environment(), **more},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
