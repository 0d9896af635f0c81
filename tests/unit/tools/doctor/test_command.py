import json

from click.testing import CliRunner

from magnetar.testing.processes import free_port
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
    ended = run(tmp_path=tmp_path, settings="metadataStoreUrl=zk:h:2181\n")
    assert ended.exit_code == 1
    assert "metadataStoreUrl" in ended.output
    assert "→ change it in" in ended.output
    ended = CliRunner().invoke(doctor, ["--conf", "/no/such.conf"])
    assert ended.exit_code == 1
    assert "/no/such.conf" in ended.output
