import os
import socket
from datetime import timedelta

from support.certificates import Authority

from magnetar.broker.config import Config
from magnetar.client.admin_api import AdminApi
from magnetar.testing.local_broker import BrokerThread
from magnetar.testing.ports import free_port
from magnetar.testing.processes import BrokerProcess
from magnetar.tools.doctor.broker import certificates, configuration, data_folder, ports, running
from magnetar.tools.doctor.finding import Verdict


def config_of(**flags):
    return Config.read(flags=flags)


def verdicts(found):
    return [one.verdict for one in found]


def test_a_configuration_that_is_refused_or_misspelt(tmp_path):
    assert verdicts(configuration(None, {})[0]) == [Verdict.OK]
    file = tmp_path / "broker.conf"
    file.write_text("metadataStoreUrl=etcd:h:2379\nclusterNam=x\n")
    found, _ = configuration(file, {})
    assert verdicts(found) == [Verdict.WRONG, Verdict.NOTE]
    assert "metadataStoreUrl" in found[0].said
    assert str(file) in found[0].remedy
    assert "clusterName" in found[1].said


def test_a_port_that_is_taken_names_its_holder():
    free = free_port()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = config_of(brokerServicePort=port, webServicePort=free)
        found = ports(config, runs=False)
        assert verdicts(found) == [Verdict.WRONG, Verdict.OK]
        assert f"process {os.getpid()}" in found[0].said
        assert "another brokerServicePort" in found[0].remedy
        assert verdicts(ports(config, runs=True)) == [Verdict.OK, Verdict.OK]
    elsewhere = config_of(brokerServicePort=free, webServicePort=-1, bindAddress="192.0.2.1")
    assert "cannot be had" in ports(elsewhere, runs=False)[0].said


def test_a_data_folder_that_is_free_in_use_or_not_there(tmp_path, monkeypatch):
    config = config_of(dataDirectory=tmp_path)
    assert [one.subject for one in data_folder(config, runs=False)] == [
        "data folder",
        "disk space",
        "fsync",
    ]
    absent = data_folder(config_of(dataDirectory=tmp_path / "a" / "b"), runs=False)
    assert "to be made" in absent[0].said
    assert not list(tmp_path.iterdir())
    assert verdicts(data_folder(config_of(storageInMemory=True), runs=False)) == [Verdict.NOTE]
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "may not be written" in data_folder(config, runs=False)[0].said


def test_a_data_folder_that_is_in_use_or_has_lost_metadata(tmp_path):
    """Of a broker on other ports, that was killed then."""
    config = config_of(dataDirectory=tmp_path)
    with BrokerProcess(tmp_path) as broker:
        number = broker.pid
        used = [one for one in data_folder(config, runs=False) if one.verdict is Verdict.WRONG]
        broker.kill()
        assert Verdict.WRONG not in verdicts(data_folder(config, runs=False))
        (tmp_path / "metadata.sqlite-wal").unlink()
        lost = [one for one in data_folder(config, runs=False) if one.verdict is Verdict.WRONG]
    assert f"in use by process {number}" in used[0].said
    assert [one.subject for one in lost] == ["metadata"]
    assert "metadata.sqlite-wal is missing" in lost[0].said
    assert "remove metadata.sqlite-shm" in lost[0].said
    assert (tmp_path / "metadata.sqlite-shm").exists(), "looked at, and left as it is"


def test_a_broker_that_runs():
    with BrokerThread() as broker:
        assert running(AdminApi(broker.web_url)).said.endswith("is well")
        port = broker.service_url.rpartition(":")[2]
        assert "it hung up" in running(AdminApi(f"http://127.0.0.1:{port}")).said
    away = running(AdminApi(f"http://127.0.0.1:{free_port()}"))
    assert away.verdict is Verdict.OK
    assert away.said.startswith("none")


def test_certificates_for_bookies_and_zookeeper_are_looked_at_where_they_are_used(tmp_path):
    certificate, key = Authority(tmp_path).issue("broker", lasts=timedelta(days=9))
    given = {
        "metadataStoreUrl": "zk:one:2181",
        **{
            f"zookeeperTls{what}": certificate
            for what in ("TrustCertsFilePath", "CertificateFilePath")
        },
        "zookeeperTlsKeyFilePath": key,
        "bookkeeperTLSTrustCertsFilePath": certificate,
        "bookkeeperTLSClientAuthentication": "false",
    }
    used = {"zookeeperTlsEnabled": "true", "bookkeeperTLSClientAuthentication": "true"}
    assert certificates(Config.read(flags=given)) == []
    found = certificates(Config.read(flags=given | used))
    assert {each.said.partition("=")[0] for each in found} == {
        "bookkeeperTLSTrustCertsFilePath",
        "zookeeperTlsCertificateFilePath",
        "zookeeperTlsTrustCertsFilePath",
    }
    assert {each.verdict for each in found} == {Verdict.NOTE}
