import json
from datetime import timedelta

import pytest
from click.testing import CliRunner
from support.certificates import Authority

from magnetar import extras
from magnetar.testing.ports import free_port
from magnetar.tools.doctor import service
from magnetar.tools.doctor.command import doctor


def run(*arguments, tmp_path, settings=""):
    conf = tmp_path / "broker.conf"
    conf.write_text(
        f"brokerServicePort={free_port()}\nwebServicePort=-1\ndataDirectory={tmp_path}\n{settings}"
    )
    away = f"http://127.0.0.1:{free_port()}"
    return CliRunner().invoke(doctor, ["--conf", str(conf), "--admin-url", away, *arguments])


def test_a_machine_that_is_well(tmp_path):
    ended = run("-o", "json", tmp_path=tmp_path)
    found = {one["subject"]: one for one in json.loads(ended.output)}
    assert ended.exit_code == int(any(one["verdict"] == "wrong" for one in found.values()))
    assert {"python", "clock", "configuration", "fsync", "running broker"} <= found.keys()


def test_what_has_to_be_mended_ends_with_1_and_says_how(tmp_path):
    ended = run(tmp_path=tmp_path, settings="metadataStoreUrl=etcd:h:2379\n")
    assert ended.exit_code == 1
    assert "metadataStoreUrl" in ended.output
    assert "→ change it in" in ended.output
    away = f"http://127.0.0.1:{free_port()}"
    ended = CliRunner().invoke(doctor, ["--conf", "/no/such.conf", "--admin-url", away])
    assert ended.exit_code == 1
    assert "/no/such.conf" in ended.output


def found(*arguments: str) -> dict[str, dict[str, str]]:
    away = f"http://127.0.0.1:{free_port()}"
    ended = CliRunner().invoke(doctor, ["-o", "json", "--admin-url", away, *arguments])
    return {one["subject"]: one for one in json.loads(ended.output)}


def test_the_folder_may_be_named(tmp_path):
    (tmp_path / "data").mkdir()
    assert found("--data-dir", str(tmp_path / "data"))["data folder"]["said"] == f"{tmp_path}/data"


def test_the_folder_of_the_service_is_found(tmp_path, monkeypatch):
    conf, data, unit = tmp_path / "b.conf", tmp_path / "stored", tmp_path / "magnetar.service"
    data.mkdir()
    conf.write_text(f"brokerServicePort={free_port()}\nwebServicePort=-1\nbindAddress=0.0.0.0\n")
    unit.write_text(
        f"[Service]\nExecStart=/opt/magnetar standalone --conf {conf} \\\n  --data-dir={data}\n"
    )
    monkeypatch.setattr(service, "UNITS", (tmp_path / "none", unit))
    told = found()
    assert told["service"]["said"] == f"{unit}: {conf} {data}"
    assert told["data folder"]["said"] == str(data)
    assert told["configuration"]["said"] == f"bindAddress='0.0.0.0' (file {conf}, line 3)"
    assert "whoever reaches this machine" in told["configuration"]["remedy"]
    assert "service" not in found("--conf", str(conf))


@pytest.mark.parametrize(
    ("days", "verdict", "said"),
    [(-1, "wrong", "ended at"), (9, "note", "in 8 days"), (99, "ok", "")],
)
def test_a_certificate_that_ends_is_found(tmp_path, days, verdict, said):
    certificate, key = Authority(tmp_path).issue("broker", lasts=timedelta(days=days))
    settings = "webServicePortTls=0\n"
    settings += f"tlsCertificateFilePath={certificate}\ntlsKeyFilePath={key}\n"
    ended = run("-o", "json", tmp_path=tmp_path, settings=settings)
    (one,) = [each for each in json.loads(ended.output) if each["subject"] == "certificate"]
    assert one["verdict"] == verdict
    assert said in one["said"]


def test_what_a_cluster_needs_and_is_not_installed_is_a_finding(tmp_path, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    ended = run("-o", "json", tmp_path=tmp_path, settings="metadataStoreUrl=zk:127.0.0.1:1\n")
    its = {one["subject"]: one for one in json.loads(ended.output)}["ZooKeeper"]
    assert (its["verdict"], "needs kazoo" in its["said"]) == ("wrong", True)
