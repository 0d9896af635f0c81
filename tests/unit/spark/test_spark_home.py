import subprocess
import sys

import pytest

from magnetar.spark.spark_home import spark_home

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")


def logging_of(folder, level, *, brief):
    home = spark_home(folder, level, brief=brief)
    return (home / "conf" / "log4j2.properties").read_text()


def test_it_links_to_the_installed_spark_without_its_zipped_copy(tmp_path):
    home = spark_home(tmp_path, "warn", brief=False)
    assert (home / "bin" / "spark-submit").is_file()
    assert list((home / "jars").glob("spark-core_*.jar"))
    assert not (home / "python").exists()
    subprocess.run(["sh", "-n", home / "conf" / "spark-env.sh"], check=True)


def test_each_way_of_logging_has_a_home_of_its_own(tmp_path):
    ways = [("warn", True), ("warn", False), ("error", False)]
    homes = {spark_home(tmp_path, level, brief=brief) for level, brief in ways}
    assert len(homes) == 3
    assert spark_home(tmp_path, "warn", brief=True) in homes


def test_what_is_said_at_every_start_is_left_out_but_for_who_wants_details(tmp_path):
    assert "NativeCodeLoader" in logging_of(tmp_path, "warn", brief=False)
    assert "NativeCodeLoader" not in logging_of(tmp_path, "info", brief=False)


def test_an_error_is_said_once_to_who_reads_along_and_whole_in_a_file(tmp_path):
    assert "TaskSetManager\n" in logging_of(tmp_path, "warn", brief=True)
    assert "%ex{1}" in logging_of(tmp_path, "warn", brief=True)
    assert "TaskSetManager\n" not in logging_of(tmp_path, "warn", brief=False)
    assert "%ex{1}" not in logging_of(tmp_path, "warn", brief=False)
