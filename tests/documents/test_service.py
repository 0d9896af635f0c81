"""The unit for systemd: systemd has nothing to say against it, and what it starts is a broker."""

import re
import shlex
import shutil
import subprocess

import pytest
from documents.reader import Reader
from documents.snippets import ROOT, Snippet

from magnetar.testing.local_broker import BrokerThread

DEPLOY = ROOT / "src" / "magnetar" / "tools" / "deploy"
UNIT = (DEPLOY / "magnetar.service").read_text()
INSTALLED = "/opt/magnetar/bin/magnetar"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path):
    unit = tmp_path / "magnetar.service"
    unit.write_text(UNIT.replace(INSTALLED, "/bin/sh"))
    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_of_the_unit_starts_a_broker_with_the_settings_beside_it(tmp_path):
    command = re.search(rf"^ExecStart={INSTALLED} (.*)$", UNIT, re.MULTILINE)
    assert command, "the unit starts no magnetar"
    arguments = command[1].replace("/etc/magnetar/", shlex.quote(f"{DEPLOY}/"))
    with BrokerThread() as beside:
        Reader(tmp_path, beside).follow(
            Snippet("deploy/magnetar.service", 1, "sh", "", f"magnetar {arguments}\n")
        )
    assert (tmp_path / "magnetar" / "metadata.sqlite").is_file()
