import json
import os
import signal
import subprocess
import sys

from click.testing import CliRunner

from magnetar.tools.broker import broker


def test_a_broker_runs_from_its_configuration(tmp_path):
    conf = tmp_path / "conf" / "broker.conf"
    conf.parent.mkdir()
    conf.write_text(
        "clusterName=here\nbrokerServicePort=0\nwebServicePort=-1\nstorageInMemory=true\n"
    )
    ready = tmp_path / "ready"
    command = [sys.executable, "-m", "magnetar.tools.cli", "broker", "--ready-file", str(ready)]
    with subprocess.Popen(
        command, cwd=tmp_path, env=os.environ, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline().startswith("Magnetar is ready")
        assert json.loads(ready.read_text())["pid"] == started.pid
        started.send_signal(signal.SIGINT)
        started.communicate(timeout=20)
    assert started.returncode == 0


def test_a_metadata_store_of_another_kind_is_refused_by_name(tmp_path):
    conf = tmp_path / "b.conf"
    conf.write_text("metadataStoreUrl=etcd:http://h:2379\n")
    ended = CliRunner().invoke(broker, ["--broker-conf", str(conf)])
    assert "metadataStoreUrl" in str(ended.exception)


def test_without_a_file_there_is_no_broker(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PULSAR_BROKER_CONF", raising=False)
    assert "no conf/broker.conf here" in str(CliRunner().invoke(broker, []).exception)
    monkeypatch.setenv("PULSAR_BROKER_CONF", "/no/such.conf")
    assert "/no/such.conf" in str(CliRunner().invoke(broker, []).exception)
