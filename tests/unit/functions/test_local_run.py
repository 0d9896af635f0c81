import pytest

from magnetar.errors import InvalidValue
from magnetar.functions.local_run import LocalRun


def test_it_runs_until_it_is_stopped(function):
    with function.run(function.config("Double", parallelism=2)) as running:
        function.send(5)
        assert function.received(1) == [b"10"]
        assert running.running
        assert not running.wait(0.0)
        assert [each["instanceId"] for each in running.status()] == [0, 1]
    assert not running.running
    assert running.wait()


def test_what_ends_it_is_told(function, client):
    config = function.config(
        "Double", processingGuarantees="EFFECTIVELY_ONCE", output="x/y/nowhere"
    )
    function.send(5)
    with LocalRun(client, config, admin_url="http://127.0.0.1:1") as running:
        assert running.wait(20.0)
        assert running.error is not None


def test_code_that_is_not_there_is_refused(function, client):
    with pytest.raises(InvalidValue, match="is not found"):
        LocalRun(client, function.config("Nothing"))
