"""A worker whose functions run in Spark: created, asked, changed and deleted by its API."""

import pulsar
import pytest
from support.elsewhere import wait_until
from support.worker_thread import WorkerThread

from magnetar.client.admin_api import AdminApi
from magnetar.functions.worker.settings import WorkerSettings
from magnetar.functions.worker.spark_jobs import SparkJobs
from magnetar.tools.functions.api import FunctionsApi

MEAN = "def process(inputs, context):\n    return sum(inputs) / len(inputs)\n"
TIMES = "def process(input, context):\n    return input * context.get_user_config_value('times')\n"


@pytest.fixture
def api(spark, broker, tmp_path):
    settings = WorkerSettings(broker.service_url, broker.web_url, tmp_path / "worker", port=0)
    with WorkerThread(settings, SparkJobs(settings, spark)) as url:
        yield FunctionsApi(AdminApi(url))


def test_functions_in_spark_are_run_by_a_worker(api, broker, tmp_path):
    for name, text in (("times", TIMES), ("mean", MEAN)):
        (tmp_path / f"{name}.py").write_text(text)
    given = {"className": "times", "py": str(tmp_path / "times.py"), "userConfig": {"times": 2}}
    api.create("public/default/times", {**given, "inputs": ["worker-in"], "output": "worker-out"})
    window = {"className": "mean", "py": str(tmp_path / "mean.py"), "inputs": ["worker-out"]}
    window["subscriptionPosition"] = "Earliest"
    window["windowConfig"] = {"windowLengthCount": 2}
    api.create("public/default/mean", {**window, "output": "worker-mean"})

    client = pulsar.Client(broker.service_url)
    means = client.subscribe("worker-mean", "test")
    assert api.trigger("public/default/times", b"21", None) == b"42"
    api.update("public/default/times", {"userConfig": {"times": 4}})
    wait_until(
        lambda: api.status("public/default/mean")["numRunning"] == 1, "the window does not run"
    )
    assert api.trigger("public/default/times", b"21", None) == b"84"
    means_of_both = means.receive(60_000).data()
    client.close()
    assert means_of_both == b"63.0"
    wait_until(  # It answers a moment before Spark says that it has started.
        lambda: api.status("public/default/times")["numRunning"] == 1, "the function does not run"
    )
    status = api.status("public/default/times")["instances"][0]["status"]
    assert (status["error"], status["numRestarts"]) == ("", 0)
    for name in ("times", "mean"):
        api.delete(f"public/default/{name}")
    assert api.names("public", "default") == []
