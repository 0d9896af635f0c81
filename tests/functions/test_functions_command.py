"""``magnetar functions`` against a worker, by pulsar-admin's options, from YAML."""

import json
from pathlib import Path

import pytest
import yaml
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from support.elsewhere import wait_until

from magnetar.errors import MagnetarError
from magnetar.tools.cli import magnetar
from magnetar.tools.functions.command import functions

DOUBLE = "def process(input):\n    return str(int(input) * 2)\n"


@pytest.fixture
def run(running):
    """Runs a command; its exit code, what it prints, and what it raises."""

    def invoke(*args: str, code: int = 0) -> str:
        env = {"PULSAR_ADMIN_URL": running.worker_url}
        result = CliRunner().invoke(magnetar, ["functions", *args], env=env)
        if isinstance(result.exception, MagnetarError):
            assert code == 1, result.exception
            return str(result.exception)
        assert result.exit_code == code, result.output
        return result.output

    return invoke


@pytest.fixture
def yaml_file(tmp_path: Path, name: str) -> str:
    (tmp_path / f"{name}.py").write_text(DOUBLE)
    given = {"className": name, "py": f"{name}.py", "inputs": [f"{name}-in"], "name": name}
    file = tmp_path / "function.yaml"
    file.write_text(yaml.safe_dump({**given, "output": f"{name}-out"}))
    return str(file)


def test_a_function_from_yaml_to_its_end(run, yaml_file, name, tmp_path):
    said = run("create", "--function-config-file", yaml_file, "--cpu", "2", "--parallelism", "1")
    assert f"Created public/default/{name}" in said
    assert "Without effect here: resources" in said
    assert name in run("list").split()
    assert name in json.loads(run("list", "-o", "json"))
    assert yaml.safe_load(run("get", "--name", name, "-o", "yaml"))["className"] == name
    assert "ATLEAST_ONCE" in run("get", "--fqfn", f"public/default/{name}")
    assert run("trigger", "--name", name, "--trigger-value", "21") == "42\n"
    (tmp_path / "message").write_text("4")
    assert run("trigger", "--name", name, "--trigger-file", str(tmp_path / "message")) == "8\n"
    wait_until(
        lambda: json.loads(run("stats", "--name", name, "-o", "json"))["receivedTotal"] == 2,
        "it has not received two messages",
    )
    assert "yes" in run("status", "--name", name)
    assert "yes" in run("status", "--name", name, "--instance-id", "0")
    assert "2" in run("stats", "--name", name, "--instance-id", "0")

    run("putstate", "--name", name, "--state", '{"key": "k", "stringValue": "v"}')
    assert json.loads(run("querystate", "--name", name, "-k", "k"))["stringValue"] == "v"
    run("putstate", "--name", name, "-k", "l", "--value", "w")
    run("putstate", "--name", name, "-k", "f", "--value-file", str(tmp_path / "message"))
    said = run("update", "--name", name, "--user-config", '{"a": 1}')
    assert f"Updated public/default/{name}; instances that run are replaced: " in said
    assert json.loads(run("get", "--name", name, "-o", "json"))["userConfig"] == {"a": 1}
    assert run("stop", "--name", name) == f"Stopped public/default/{name}\n"
    wait_until(
        lambda: not json.loads(_status(run, name))["instances"][0]["status"]["running"],
        "it has not stopped",
    )
    assert run("start", "--name", name).startswith(f"Starting public/default/{name}; ")
    run("restart", "--name", name)
    copy = tmp_path / "copy.py"
    run("download", "--name", name, "--destination-file", str(copy))
    assert copy.read_text() == DOUBLE
    run("upload", "--source-file", str(copy), "--path", "x/y")
    run("download", "--path", "x/y", "--destination-file", str(copy))
    run("delete", "--name", name)
    assert name not in run("list").split()


def _status(run, name: str) -> str:
    try:
        return run("status", "--name", name, "-o", "json")
    except AssertionError:
        return run("status", "--name", name, "-o", "json", code=1)


def test_status_ends_with_1_where_it_does_not_run(run, yaml_file, name):
    run("create", "--function-config-file", yaml_file)
    run("stop", "--name", name)
    wait_until(lambda: "no" in _status_table(run, name).split(), "it has not stopped")
    said = run("trigger", "--name", name, "--trigger-value", "21", code=1)
    assert "is not ready: start it first" in said
    run("delete", "--name", name)


def _status_table(run, name: str) -> str:
    try:
        return run("status", "--name", name, code=1)
    except AssertionError:
        return ""


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["get"], 2, "say which function: --name NAME, or --fqfn"),
        (["get", "--fqfn", "a/b"], 2, "--fqfn has to be tenant/namespace/name"),
        (["get", "--fqfn", "a/b/c", "--name", "c"], 2, "say either --fqfn or"),
        (["get", "--name", "absent"], 1, "Function absent doesn't exist (404 Not Found"),
        (["create", "--user-config", "{"], 2, "'{' has to be JSON"),
        (["create", "--classname", "f", "--inputs", "a"], 1, "py is missing: give the file"),
        (
            ["create", "--classname", "f", "--inputs", "a", "--py", "no.py"],
            1,
            "cannot read the cod",
        ),
        (["create", "--classname", "f", "--jar", "f.jar"], 1, "jar is set, but functions are writ"),
        (["create", "--function-config-file", "no.yaml"], 1, "config-file no.yaml: No such file"),
        (["update", "--parallelism", "2"], 2, "say which function"),
        (["trigger", "--name", "f"], 2, "give either --trigger-value or --trigger-file"),
        (["trigger", "--name", "f", "--trigger-file", "no"], 1, "cannot read no"),
        (["putstate", "--name", "f"], 2, "give --state, or --key and --value"),
        (["putstate", "--name", "f", "--state", "[]"], 2, "--state has no key"),
        (["putstate", "--name", "f", "--state", "{"], 2, "--state is no JSON"),
        (
            ["list", "--admin-url", "http://127.0.0.1:1"],
            1,
            "no admin API answers at http://127.0.0.1:1",
        ),
        (["list", "--admin-url", "localhost"], 1, "no URL of an admin API: http://host:8080"),
        (["test", "--classname", "f", "--inputs", "a"], 2, "give a message: --value"),
        (["worker", "--spark-conf", "x"], 2, "--spark-conf x has to be KEY=VALUE"),
    ],
)
def test_errors_say_what_to_do(run, args, code, said):
    assert said in " ".join(run(*args, code=code).replace("│", " ").split())


def test_a_function_in_memory(run, yaml_file, name, tmp_path):
    said = run("test", "--function-config-file", yaml_file, "--value", "21", "--value", "4")
    assert said == f"{name}-out: 42\n{name}-out: 8\n"
    (tmp_path / "messages").write_text("1\noh\n")
    messages = str(tmp_path / "messages")
    said = run("test", "--function-config-file", yaml_file, "--value-file", messages, code=1)
    assert f"{name}-out: 2" in said
    assert said.count("Traceback") == 1


def test_names_are_completed(running, api, code, name):
    py = code()
    api.create(f"public/default/{name}", {"py": py, "className": name, "inputs": ["a"]})
    shell = ShellComplete(functions, {}, "functions", "_X")
    given = ["status", "--admin-url", running.worker_url, "--name"]
    assert name in [each.value for each in shell.get_completions(given, name[:-2])]
    given[2] = "http://127.0.0.1:1"
    assert shell.get_completions(given, name) == []
    api.delete(f"public/default/{name}")


def test_localrun_runs_a_function_beside_a_broker(running, client, yaml_file, name):
    import os  # noqa: PLC0415 - to interrupt it
    import signal  # noqa: PLC0415 - as above
    import subprocess  # noqa: PLC0415 - as above
    import sys  # noqa: PLC0415 - as above

    command = [sys.executable, "-m", "magnetar.tools.cli", "functions", "localrun"]
    command += ["--function-config-file", yaml_file, "--broker-service-url", running.service_url]
    command += ["--web-service-url", running.broker_url, "--subs-position", "Earliest"]
    with client.create_producer(f"{name}-in") as producer:
        producer.send(b"21")
    with client.subscribe(f"{name}-out", "test") as output:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            assert output.receive(30).data == b"42"
        finally:
            os.kill(process.pid, signal.SIGINT)
            said, _ = process.communicate(timeout=30)
    assert process.returncode == 0, said
    assert b"it finishes what it is at" in said
