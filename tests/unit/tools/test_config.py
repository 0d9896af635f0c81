import json
import re
from pathlib import Path

from click.testing import CliRunner

from magnetar.tools.config import config

PULSARS = Path(__file__).parents[2] / "golden" / "conf" / "standalone.conf"


def show(*arguments: str, exit_code: int = 0, **environment: str) -> list[str]:
    result = CliRunner().invoke(config, ["show", *arguments], env=environment)
    assert result.exit_code == exit_code, result.output
    return result.output.splitlines()


def test_each_setting_is_shown_with_its_source(tmp_path):
    file = tmp_path / "standalone.conf"
    file.write_text("clusterName=here\nmetadataStoreSerDesThreads=7\nclusterNam=there\n")
    lines = show("--conf", str(file), MAGNETAR_WEB_SERVICE_PORT="9090")
    shown = {line.split("=")[0]: " ".join(line.split()) for line in lines if "  # " in line}
    assert shown["clusterName"] == f"clusterName=here # file {file}, line 1"
    assert shown["webServicePort"] == (
        "webServicePort=9090 # environment MAGNETAR_WEB_SERVICE_PORT"
    )
    assert shown["maxMessageSize"] == "maxMessageSize=5242880 # default"
    assert lines[-2] == (
        f"clusterNam (file {file}, line 3) is no setting, it is ignored; did you mean clusterName?"
    )
    assert lines[-1] == (
        f"metadataStoreSerDesThreads=7 (file {file}, line 2) has no effect: How Pulsar's "
        "client of ZooKeeper works: ours is another, and one broker alone keeps its metadata in "
        "SQLite."
    )


def test_what_would_be_refused_is_shown_behind_the_settings(tmp_path):
    file = tmp_path / "standalone.conf"
    file.write_text("tlsKeyStorePassword=hunter2\nclusterName=here\nauthenticationEnabled=true\n")
    lines = show("--conf", str(file), exit_code=1)
    assert any(line.startswith("clusterName=here ") for line in lines)
    assert lines[-2].startswith(
        f"authenticationEnabled='true' (file {file}, line 3): nothing would"
    )
    assert lines[-1].startswith(f"tlsKeyStorePassword='***' (file {file}, line 1): Magnetar speaks")


def test_all_of_pulsars_own_file_is_accounted_for():
    lines = show("--conf", str(PULSARS))
    [rest] = [line for line in lines if "more of Pulsar's settings ask for nothing" in line]
    assert int(rest.split()[0]) > 100
    lines = show("--conf", str(PULSARS), "--about")
    said = {re.match(r"\w+", line)[0] for line in lines if not line.startswith("#")}
    assert {line.partition("=")[0] for line in PULSARS.read_text().splitlines()} <= said


def test_settings_explain_themselves_when_asked():
    lines = show("--about")
    place = next(i for i, line in enumerate(lines) if line.startswith("brokerServicePort="))
    assert (
        lines[place - 1]
        == "# port of the binary protocol; 0 picks a free one, -1 switches it off where TLS is on"
    )


def test_settings_are_shown_in_other_forms(tmp_path):
    file = tmp_path / "broker.conf"
    file.write_text("clusterName=here\n")
    rows = json.loads("\n".join(show("--conf", str(file), "-o", "json")))
    (name,) = [row for row in rows if row["key"] == "clusterName"]
    assert name == {"key": "clusterName", "value": "here", "source": f"file {file}, line 1"}
    about = show("--about", "-o", "table")[0].split()
    assert about == ["key", "value", "source", "about"]


def test_a_clients_settings_are_shown_with_their_origins(tmp_path):
    file = tmp_path / "client.conf"
    file.write_text("webServiceUrl=http://file:1\nauthPlugin=token\nauthParams=token:s3cret\n")
    arguments = ["client", "--client-conf", str(file), "--tls-allow-insecure", "-o", "json"]
    environment = {"PULSAR_SERVICE_URL": "pulsar://env:2", "PULSAR_TOKEN": ""}
    said = CliRunner().invoke(config, arguments, env=environment).output
    found = {row["key"]: (row["value"], row["source"]) for row in json.loads(said)}
    assert found == {
        "webServiceUrl": ("http://file:1", f"file {file}"),
        "brokerServiceUrl": ("pulsar://env:2", "environment PULSAR_SERVICE_URL"),
        "authPlugin": ("token", f"file {file}"),
        "tlsTrustCertsFilePath": ("", "default"),
        "tlsCertificateFilePath": ("", "default"),
        "tlsKeyFilePath": ("", "default"),
        "tlsAllowInsecureConnection": ("true", "option"),
        "tlsEnableHostnameVerification": ("true", "default"),
    }
    assert "s3cret" not in said
    plain = CliRunner().invoke(config, arguments[:-2], env=environment).output
    assert "tlsAllowInsecureConnection=true " in plain


def test_what_a_clients_file_says_in_vain_is_named_and_plain_is_not_taken_for_tls(tmp_path):
    file = tmp_path / "client.conf"
    file.write_text("brokerServiceUrl=pulsar://here:1\nauthPlugn=token\nuseTls=true\n")
    done = CliRunner().invoke(config, ["client", "--client-conf", str(file)])
    assert str(done.exception) == (
        f"{file}: useTls is true, but the URL is plain: use pulsar+ssl://"
    )
    assert done.output == (
        f"{file}: authPlugn is no setting of this client, it is ignored; did you mean authPlugin?\n"
    )


def test_an_open_broker_is_warned_of():
    *_, last = show(MAGNETAR_BIND_ADDRESS="0.0.0.0")
    assert last.startswith("warning: bindAddress='0.0.0.0' (environment MAGNETAR_BIND_ADDRESS)")


def test_settings_that_are_wrong_are_all_shown():
    lines = show(exit_code=1, MAGNETAR_DURABILITY="maybe", MAGNETAR_WEB_SERVICE_PORT="many")
    assert any(line.startswith("clusterName=") for line in lines)
    assert [line.partition("=")[0] for line in lines[-2:]] == ["webServicePort", "durability"]
