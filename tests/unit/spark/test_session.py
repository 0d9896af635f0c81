import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import magnetar.spark
from magnetar.errors import InvalidValue, NotReady
from magnetar.spark import session
from magnetar.testing.ports import free_port

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")


@pytest.fixture
def environment(tmp_path):
    return {"XDG_CACHE_HOME": str(tmp_path), "PATH": os.environ["PATH"]}


def test_workers_run_in_this_python_and_find_this_package(environment):
    session.prepare(environment)
    assert runs(environment["PYSPARK_PYTHON"]) == f"{sys.executable} {sys.prefix}\n"
    source = environment["PYTHONPATH"].split(os.pathsep)[0]
    assert (Path(source) / "pyspark_pulsar" / "__init__.py").is_file()


def runs(python):
    """Which Python it is, started as Spark starts it: once a shell has found it, without quotes."""
    subprocess.run(["sh", "-c", f"command -v {python}"], stdout=subprocess.DEVNULL, check=True)
    program = "import sys; print(sys.executable, sys.prefix)"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout


def test_spark_finds_a_python_whose_path_has_a_space_in_it(environment, tmp_path, monkeypatch):
    folder = tmp_path / "my code"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = str(folder / "bin" / "python")
    monkeypatch.setattr("sys.executable", python)
    session.prepare(environment)
    assert runs(environment["PYSPARK_PYTHON"]) == f"{python} {folder}\n"


def test_the_files_of_spark_are_where_its_scripts_can_read_them(environment, tmp_path):
    environment["XDG_CACHE_HOME"] = str(tmp_path / "my cache")
    session.prepare(environment)
    script = Path(environment["SPARK_HOME"]) / "conf" / "spark-env.sh"
    subprocess.run(["sh", "-c", f". {script}"], check=True)
    shutil.rmtree(script.parents[2])


def test_spark_has_a_home_of_its_own(environment):
    session.prepare(environment, log_level="error")
    conf = Path(environment["SPARK_HOME"]) / "conf"
    assert "rootLogger.level = error" in (conf / "log4j2.properties").read_text()


def test_what_the_user_set_stays(environment):
    mine = {"SPARK_HOME": "/opt/spark", "PYSPARK_PYTHON": "/opt/python", "PYTHONPATH": "/mine"}
    environment.update(mine)
    session.prepare(environment)
    assert environment["SPARK_HOME"] == "/opt/spark"
    assert environment["PYSPARK_PYTHON"] == "/opt/python"
    assert environment["PYTHONPATH"].endswith(os.pathsep + "/mine")


def test_a_cluster_is_told_nothing_of_this_machine_but_where_the_driver_logs(environment):
    session.prepare(environment, local=False)
    ours = {"JAVA_HOME", "SPARK_CONF_DIR", "MAGNETAR_SPARK_LOG_FILE", "MAGNETAR_SPARK_PID_FILE"}
    assert set(environment) == {"XDG_CACHE_HOME", "PATH", *ours}
    assert (Path(environment["SPARK_CONF_DIR"]) / "log4j2.properties").is_file()


def test_a_cluster_has_the_python_that_its_user_names(environment):
    session.prepare(environment, local=False, python="./environment/bin/python")
    assert environment["PYSPARK_PYTHON"] == "./environment/bin/python"


def test_two_sparks_at_once_are_refused():
    with pytest.raises(InvalidValue, match="master and remote"):
        session.session("app", master="local[2]", remote="sc://localhost")


def test_a_connect_server_that_is_not_there_is_not_waited_for():
    with pytest.raises(NotReady, match="no Spark Connect server answers at sc:"):
        session.session("app", remote=f"sc://127.0.0.1:{free_port()}/;use_ssl=false")


def test_why_spark_did_not_start_is_one_line():
    java = "An error occurred while calling None.X.\n: java.net.BindException: taken\n\tat a.b"
    assert session._cause(Exception(java)) == "java.net.BindException: taken"
    assert (
        session._cause(Exception("[JAVA_GATEWAY_EXITED] No.\nmore")) == "[JAVA_GATEWAY_EXITED] No."
    )
    assert session._cause(OSError()) == "OSError"


def test_the_session_is_there_without_importing_spark_before():
    program = "import sys, magnetar.spark; assert 'pyspark' not in sys.modules; "
    program += "print(callable(magnetar.spark.session), 'pyspark' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "True"]


def test_the_room_has_nothing_else():
    with pytest.raises(AttributeError, match="has no attribute 'sesion'"):
        _ = magnetar.spark.sesion


def test_preparing_twice_changes_nothing(environment):
    session.prepare(environment)
    once = dict(environment)
    session.prepare(environment)
    assert environment == once


def test_the_folder_for_spark_is_the_same_in_every_process(environment):
    session.prepare(environment)
    program = "import os; from magnetar.spark import session as s; s.prepare(os.environ); "
    program += "print(os.environ['SPARK_HOME'])"
    source = str(Path(session.__file__).parents[2])
    other = {**environment, "PYTHONPATH": source}
    del other["SPARK_HOME"]
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=other,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == environment["SPARK_HOME"]


def test_what_spark_prints_goes_to_a_file_and_its_process_is_named(environment, tmp_path):
    log_file, pid_file = tmp_path / "log", tmp_path / "pid"
    session.prepare(environment, log_file=log_file, pid_file=pid_file)
    script = Path(environment["SPARK_HOME"]) / "conf" / "spark-env.sh"
    shell = subprocess.Popen(["sh", "-c", f". {script}; exec echo spark speaks"], env=environment)
    assert shell.wait(30) == 0
    assert log_file.read_text() == "spark speaks\n"
    assert int(pid_file.read_text()) == shell.pid


def test_spark_prints_to_the_terminal_when_it_has_no_file(environment):
    session.prepare(environment)
    script = Path(environment["SPARK_HOME"]) / "conf" / "spark-env.sh"
    command = ["sh", "-c", f". {script}; exec echo spark speaks"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "spark speaks\n"
