import importlib.util
import os
import resource
import shutil
import sys

import pytest

from magnetar import inner
from magnetar.tools.doctor import machine
from magnetar.tools.doctor.finding import Verdict


@pytest.mark.parametrize("check", ["python", "loops", "event_loop", "open_files", "clock", "java"])
def test_nothing_grave_is_found_where_the_tests_run(check):
    assert getattr(machine, check)().verdict is not Verdict.WRONG


def test_what_may_be_better_has_a_remedy(monkeypatch):
    monkeypatch.setattr(inner, "BUILD", "plain")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1024))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    found = [machine.loops(), machine.event_loop(), machine.open_files(), machine.java()]
    assert {one.verdict for one in found} == {Verdict.NOTE}
    assert all(one.remedy for one in found)


def test_an_old_java_is_named(monkeypatch, tmp_path):
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019' >&2\n")
    java.chmod(0o755)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert "11.0.2: too old" in machine.java().said


def test_another_python_and_a_clock_that_is_behind(monkeypatch):
    class Behind:
        def wall_ms(self):
            return 0

    monkeypatch.setattr(machine, "SystemClock", Behind)
    assert machine.clock().verdict is Verdict.WRONG
    other = type(sys.implementation)(**{**vars(sys.implementation), "name": "pypy"})
    monkeypatch.setattr(sys, "implementation", other)
    assert machine.python().verdict is Verdict.NOTE
