"""``magnetar standalone`` as its users start it: a process of its own."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Self
from urllib.request import urlopen

import pytest
from support.certificates import Authority

pytestmark = pytest.mark.slow

STARTUP_S = 30
PULSARS = Path(__file__).parents[2] / "golden" / "conf"


class Standalone:
    """A running process, started and ended by the test."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        command = [sys.executable, "-m", "magnetar.tools.cli", "standalone", *arguments]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MAGNETAR_")}
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def first_line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=STARTUP_S)
        return self.process.returncode, out, err


@pytest.fixture
def start(tmp_path):
    def begin(*arguments: str) -> Standalone:
        return Standalone("--port", "0", "--http-port", "0", *arguments, folder=tmp_path)

    return begin


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_when_it_is_ready_and_ends_when_asked(start, tmp_path, number):
    ready_file = tmp_path / "ready.json"
    with start("--data-dir", "here", "--ready-file", str(ready_file)) as running:
        line = running.first_line()
        ready = json.loads(ready_file.read_text())
        assert ready["pid"] == running.process.pid
        assert line.startswith("Magnetar is ready after ")
        assert re.search(r" s, inner loops (compiled|plain): pulsar://", line)
        assert f": pulsar://localhost:{ready['port']} and " in line
        assert f"http://localhost:{ready['http_port']}, stored in here (durability=fsync)" in line
        socket.create_connection(("127.0.0.1", ready["port"])).close()
        clusters = f"http://127.0.0.1:{ready['http_port']}/admin/v2/clusters"
        with urlopen(clusters) as answer:
            assert json.load(answer) == ["standalone"]
        running.process.send_signal(number)
        code, out, err = running.ended()
    assert (code, err) == (0, "")
    assert out == "Stopping: clients are told, everything is written.\n"
    assert not ready_file.exists()
    assert (tmp_path / "here").is_dir()


def test_in_memory_it_stores_nothing(start, tmp_path):
    with start("--memory", "--http-port", "-1") as running:
        line = running.first_line()
        assert line.rstrip().endswith(", nothing is stored")
        assert "http://" not in line
        running.process.terminate()
        assert running.ended()[0] == 0
    assert list(tmp_path.iterdir()) == []


def test_a_locked_folder_is_an_error_in_one_line(start):
    with start("--data-dir", "here") as first:
        first.first_line()
        with start("--data-dir", "here") as second:
            code, out, err = second.ended()
    assert (code, out) == (1, "")
    assert err == (
        f"magnetar: the data folder here/ledgers is in use by process {first.process.pid}: stop "
        "it, or choose another folder\n"
    )


@pytest.mark.parametrize(
    ("flag", "setting"), [("--port", "brokerServicePort"), ("--http-port", "webServicePort")]
)
def test_a_busy_port_is_called_by_its_flag(start, flag, setting):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with start("--memory", flag, str(port)) as running:
            code, _, err = running.ended()
    assert code == 1
    assert err == (
        f"magnetar: cannot listen on 127.0.0.1:{port}: Address already in use. Stop what uses the "
        f"port, or choose another ({flag}, {setting}; 0 picks a free one)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--conf", "missing.conf"), "cannot read the configuration file missing.conf"),
        (("--port", "70000"), "brokerServicePort='70000' (flag): use a whole number from -1"),
        (("--data-dir", "/proc/magnetar"), "/proc/magnetar"),
        (("--data-dir", "/dev/null/here"), "/dev/null/here"),
        (
            ("--memory", "--host", "192.0.2.1"),
            "Cannot assign requested address. Give an address of this machine (--host, bindAddress",
        ),
        (
            ("--memory", "--ready-file", "missing/ready.json"),
            "cannot write --ready-file missing/ready.json: No such file or directory. Name a file",
        ),
        (("--memory", "--ready-file", "."), "cannot write --ready-file .: Is a directory. Name a"),
    ],
)
def test_what_a_user_can_mend_is_an_error_in_one_line(start, arguments, text):
    with start(*arguments) as running:
        code, out, err = running.ended()
    assert (code, out) == (1, "")
    assert err.startswith("magnetar: ")
    assert text in err
    assert err.count("\n") == 1


def test_a_damaged_folder_is_an_error_in_one_line(start, tmp_path):
    with start("--data-dir", "here") as running:
        running.first_line()
        running.process.terminate()
        assert running.ended()[0] == 0
    (tmp_path / "here" / "metadata.sqlite").write_bytes(b"no database " * 1000)
    with start("--data-dir", "here") as running:
        code, _, err = running.ended()
    assert code == 1
    assert "metadata.sqlite" in err
    assert err.count("\n") == 1


def configured(folder: Path, *lines: str) -> tuple[str, str]:
    (folder / "my.conf").write_text("".join(f"{line}\n" for line in lines))
    return "--conf", "my.conf"


def warnings_of(running: Standalone) -> list[str]:
    """What a broker that serves has logged, from its first word on, without times and levels."""
    running.first_line()
    running.process.terminate()
    _, _, err = running.ended()
    return [line.partition(" WARNING ")[2] for line in err.splitlines()]


def test_a_configuration_that_asks_for_security_starts_no_open_broker(start, tmp_path):
    conf = configured(
        tmp_path, "bindAddress=127.0.0.1", "authenticationEnabled=true", "authorizationEnabled=true"
    )
    with start("--memory", *conf) as running:
        code, out, err = running.ended()
    assert (code, out) == (1, "")
    first, second = err.splitlines()
    assert first == (
        "magnetar: authenticationEnabled='true' (file my.conf, line 2): nothing would check who "
        "clients are: set authenticationProviders, too; `magnetar init-auth` writes a "
        "configuration that works"
    )
    assert second.startswith("magnetar: authorizationEnabled='true' (file my.conf, line 3): ")


def test_a_line_without_an_equals_sign_is_an_error_with_its_number(start, tmp_path):
    with start("--memory", *configured(tmp_path, "", "authenticationEnabled true")) as running:
        code, out, err = running.ended()
    assert (code, out) == (1, "")
    assert err == (
        "magnetar: configuration file my.conf, line 2: 'authenticationEnabled' is not followed by "
        "'='; write key=value, or # before a comment\n"
    )


def test_settings_that_are_ignored_are_named_once(start, tmp_path):
    conf = configured(
        tmp_path,
        *("brokerServicePrt=1", "loadBalancerSplitIntervalMinutes=7", "clusterName=c"),
        *("athens=x", "webSocketServiceEnabled=true", "authenticationEnabled=false"),
    )
    with start("--memory", *conf) as running:
        said = "\n".join(warnings_of(running))
    assert said == (
        "config.unknown_setting athens (file my.conf, line 4) is no setting, it is ignored\n"
        "config.unknown_setting brokerServicePrt (file my.conf, line 1) is no setting, it is "
        "ignored; did you mean brokerServicePort?\n"
        f"{NOT_DONE} webSocketServiceEnabled=true\n"
        "config.without_effect settings of Pulsar that are ignored: "
        "loadBalancerSplitIntervalMinutes=7"
    )


NOT_DONE = "config.not_done Pulsar's files switch on what Magnetar does not do:"
ON_IN_STANDALONE = {"webSocketServiceEnabled=true"}
ON_IN_BROKER = {
    f"managedLedgerDefault{what}=2" for what in ("EnsembleSize", "WriteQuorum", "AckQuorum")
}


@pytest.mark.parametrize(
    ("name", "switched_on"),
    [
        ("standalone.conf", ON_IN_STANDALONE),
        ("broker.conf", ON_IN_BROKER),
    ],
)
def test_pulsars_own_file_starts_a_broker_that_names_what_is_not_done(start, name, switched_on):
    with start("--memory", "--host", "127.0.0.1", "--conf", str(PULSARS / name)) as running:
        (warning,) = warnings_of(running)
    event, _, named = warning.partition(": ")
    assert f"{event}:" == NOT_DONE
    assert set(named.split()) == switched_on


def test_lookups_answer_the_host_name_of_a_broker_that_lets_others_in(start, tmp_path):
    ready_file = tmp_path / "ready.json"
    conf = configured(tmp_path, "bindAddress=0.0.0.0", "advertisedAddress=")
    with start("--memory", "--ready-file", str(ready_file), *conf) as running:
        line = running.first_line()
        ready = json.loads(ready_file.read_text())
        topic = "lookup/v2/topic/persistent/public/default/x"
        with urlopen(f"http://127.0.0.1:{ready['http_port']}/{topic}") as answer:
            found = json.load(answer)
    names = {socket.getfqdn(), socket.gethostname()}
    own = {name for name in names if not name.startswith("localhost")} or {"localhost"}
    assert found["brokerUrl"] in {f"pulsar://{name}:{ready['port']}" for name in own}
    assert found["httpUrl"] in {f"http://{name}:{ready['http_port']}" for name in own}
    assert found["brokerUrl"] in line


def test_it_stops_cleanly_when_its_standard_input_has_ended(tmp_path):
    """Even when that was before it began: whoever started it may be gone already."""
    command = [sys.executable, "-m", "magnetar.tools.cli", "standalone", "--until-eof"]
    command += ["--port", "0", "--http-port", "0", "--data-dir", str(tmp_path / "data")]
    ours = {name: value for name, value in os.environ.items() if not name.startswith("MAGNETAR_")}
    ended = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=ours,  # Without settings that other tests have left for Spark's processes.
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "is ready" in ended.stdout


def until_said(running: Standalone, text: str) -> str:
    """The line of the log that says it."""
    assert running.process.stderr is not None
    for line in running.process.stderr:
        if text in line:
            return line
    raise AssertionError(f"nobody says {text}")


def test_sighup_takes_a_new_level_and_names_what_takes_a_restart(start, tmp_path):
    conf = configured(tmp_path, "logLevel=warning")
    with start("--memory", *conf) as running:
        running.first_line()
        configured(tmp_path, "logLevel=info", "maxMessageSize=70000")
        running.process.send_signal(signal.SIGHUP)
        assert until_said(running, "configuration.needs_restart").endswith("=maxMessageSize\n")
        assert until_said(running, "configuration.reloaded").endswith("level=info\n")
        configured(tmp_path, "logLevel=loud")
        running.process.send_signal(signal.SIGHUP)
        said = until_said(running, "configuration.not_reloaded")
        assert "logLevel='loud' (file my.conf, line 1)" in said
        running.process.terminate()
        assert running.ended()[0] == 0


def test_sighup_reads_certificates_again(start, tmp_path):
    authority = Authority(tmp_path)
    certificate, key = authority.issue("broker")
    conf = configured(
        tmp_path,
        "webServicePortTls=0",
        f"tlsCertificateFilePath={certificate}",
        f"tlsKeyFilePath={key}",
        "tlsCertRefreshCheckDurationSec=0",
    )
    with start("--memory", *conf) as running:
        running.first_line()
        newer, newer_key = authority.issue("newer")
        Path(newer).replace(certificate)
        Path(newer_key).replace(key)
        running.process.send_signal(signal.SIGHUP)
        assert until_said(running, "tls.renewed").endswith(f"certificate={certificate}\n")
        running.process.terminate()
        assert running.ended()[0] == 0


def test_with_json_each_line_is_an_object(start, tmp_path):
    conf = configured(tmp_path, "logFormat=json", "noSuchSetting=1")
    with start("--memory", *conf) as running:
        ready = json.loads(running.first_line())
        running.process.send_signal(signal.SIGHUP)
        until_said(running, "configuration.reloaded")
        running.process.terminate()
        _, out, err = running.ended()
    assert (ready["event"], ready["level"]) == ("broker.ready", "INFO")
    assert ready["said"].startswith("Magnetar is ready after ")
    assert [json.loads(line)["event"] for line in out.splitlines()] == ["broker.stopping"]
    assert [json.loads(line) for line in err.splitlines()] == []
    with start(*configured(tmp_path, "logFormat=json", "maxMessageSize=x")) as running:
        _, out, err = running.ended()
    [refused] = map(json.loads, err.splitlines())
    assert (out, refused["event"]) == ("", "process.refused")
    assert "maxMessageSize='x'" in refused["reason"]


def test_what_nobody_catches_is_an_object_too():
    program = (
        "import sys, threading, warnings; from magnetar.tools.process import log_to;"
        "log_to(sys.stderr, 30, as_json=True); warnings.warn('odd');"
        "one = threading.Thread(target=lambda: 1 / 0); one.start(); one.join(); int('x')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    warned, thread, process = map(json.loads, ran.stderr.splitlines())
    assert "odd" in warned["message"]
    assert "ZeroDivisionError" in thread["traceback"]
    assert "ValueError" in process["traceback"]
