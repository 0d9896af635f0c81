import subprocess
import sys
from pathlib import Path

SOURCE = str(Path(sys.modules["magnetar"].__file__).parents[1])


def test_it_ends_well_when_its_input_does(tmp_path):
    command = [sys.executable, "-m", "magnetar.tools.quickstart.broker_child", "standalone"]
    command += ["--port", "0", "--http-port", "0", "--data-dir", str(tmp_path / "data")]
    child = subprocess.Popen(
        command,
        env={"PYTHONPATH": SOURCE},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "is ready" in child.stdout.readline()
    _, errors = child.communicate(timeout=30)
    assert (child.returncode, errors) == (0, "")
