"""A worker over its API, beside a broker: Pulsar's answers, and what becomes of functions."""

import base64
import json
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from support.elsewhere import wait_until

from magnetar.errors import MagnetarError
from magnetar.functions.worker.multipart import Part, form
from magnetar.functions.worker.trigger import TIMEOUT_S
from magnetar.model.subscriptions import InitialPosition

COUNTS = """
class Counts:
    def process(self, input, context):
        context.incr_counter(input, 1)
        context.put_state("last", input)
        return f"{context.get_user_config_value('greeting')} {input}"
"""

STRANGER = """
class Stranger:
    def process(self, input, context):
        made_from = {"__pfn_input_topic__": f"persistent://public/default/{NAME}-in"}
        context.publish(f"{NAME}-out", b"x", properties={**made_from, "__pfn_input_msg_id__": "?"})
        return input
"""


def config(name: str, py: str, **more) -> dict:
    given = {"py": py, "className": name, "name": name, "inputs": [f"{name}-in"]}
    return {**given, "output": f"{name}-out", "subscriptionPosition": "Earliest", **more}


def runs(api, fqfn: str, **fields) -> dict:
    """Wait until every instance runs, and its status is as wanted; that status."""

    def found():
        one = api.status(fqfn)["instances"][0]["status"]
        right = all(one[key] == value for key, value in fields.items())
        return one if right and (one["running"] or "running" in fields) else None

    return wait_until(found, f"{fqfn} is not {fields}")


def test_a_function_is_created_asked_changed_and_deleted(running, api, client, code, name):
    fqfn = f"public/default/{name}"
    file = code(COUNTS)
    wanted = config(name, file, className=f"{name}.Counts", userConfig={"greeting": "hello"})
    api.create(fqfn, wanted)
    assert name in api.names("public", "default")
    assert api.get(fqfn)["userConfig"] == {"greeting": "hello"}
    runs(api, fqfn)

    assert api.trigger(fqfn, b"ada", None) == b"hello ada"
    status = runs(api, fqfn, numReceived=1, numSuccessfullyProcessed=1)
    assert status["error"] == ""
    assert status["workerId"].startswith("magnetar-fw-")
    stats = api.stats(fqfn)
    assert (stats["receivedTotal"], stats["1min"]["receivedTotal"]) == (1, 1)
    assert stats["instances"][0]["metrics"]["processedSuccessfullyTotal"] == 1
    assert api.stats(fqfn, 0)["receivedTotal"] == 1
    assert api.status(fqfn, 0)["numReceived"] == 1

    assert api.state(fqfn, "ada") == {"key": "ada", "numberValue": 1}
    assert api.state(fqfn, "last") == {"key": "last", "stringValue": "ada"}
    api.put_state(fqfn, {"key": "own", "stringValue": "x"})
    api.put_state(fqfn, {"key": "raw", "byteValue": base64.b64encode(b"\xff").decode()})
    assert api.state(fqfn, "own")["stringValue"] == "x"
    assert api.state(fqfn, "raw")["byteValue"] == "/w=="

    api.update(fqfn, {"name": name, "userConfig": {"greeting": "good day"}})
    with client.create_producer(f"{name}-in") as producer:
        producer.send(b"grace")
    with client.subscribe(f"{name}-out", "test", initial_position=InitialPosition.EARLIEST) as out:
        assert [out.receive(30).data for _ in range(2)] == [b"hello ada", b"good day grace"]
    assert api.code(fqfn) == COUNTS.encode()

    api.delete(fqfn)
    assert name not in api.names("public", "default")
    left = set(client.topics("public/default")) & {f"persistent://public/default/{name}-state"}
    assert not left, "its state is deleted with it"
    path = f"/admin/v2/persistent/public/default/{name}-in/subscriptions"
    with urllib.request.urlopen(running.broker_url + path) as answer:
        assert json.loads(answer.read()) == [], "so is its subscription"


def test_stopped_it_keeps_its_place(api, client, code, name):
    fqfn = f"public/default/{name}"
    api.create(fqfn, config(name, code()))
    runs(api, fqfn)
    assert api.trigger(fqfn, b"1", None) == b"2"
    api.turn(fqfn, None, "stop")
    runs(api, fqfn, running=False)
    with client.create_producer(f"{name}-in") as producer:
        producer.send(b"21")
    api.turn(fqfn, 0, "start")
    with client.subscribe(f"{name}-out", "test", initial_position=InitialPosition.EARLIEST) as out:
        assert [out.receive(30).data for _ in range(2)] == [b"2", b"42"]
    runs(api, fqfn, numReceived=2)  # The numbers are those of both.
    api.turn(fqfn, None, "restart")
    runs(api, fqfn, numReceived=2, running=True)


def test_a_function_that_fails_is_started_again_and_shown(api, code, name):
    fqfn = f"public/default/{name}"
    broken = "def process(input):\n    return input\nclass Broken:\n    def __init__(self):\n"
    broken += "        raise ValueError('no such thing')\n    def process(self, i, c): pass\n"
    api.create(fqfn, config(name, code(broken), className=f"{name}.Broken"))
    status = wait_until(
        lambda: next(
            (
                each["status"]
                for each in api.status(fqfn)["instances"]
                if each["status"]["numRestarts"] >= 2
            ),
            None,
        ),
        "it did not fail twice",
    )
    assert not status["running"]
    assert "no such thing" in status["error"]
    assert "times in a row; it is started again in" in status["error"]
    api.update(fqfn, {"name": name, "py": code(), "className": name})
    runs(api, fqfn, error="")
    api.delete(fqfn)


def test_refusals_are_pulsars(api, code, name):
    fqfn = f"public/default/{name}"

    def refused(said: str, work, *args) -> None:
        with pytest.raises(MagnetarError, match=said):
            work(*args)

    for work in (api.get, api.delete, api.status, api.stats, api.code):
        refused(rf"^Function {name} doesn't exist \(404 Not Found: ", work, fqfn)
    refused("404 Not Found", api.turn, fqfn, None, "stop")
    refused(
        rf"^Function {name} doesn't exist \(400 Bad Request: ", api.update, fqfn, {"name": name}
    )
    refused("Function Package is not provided", api.create, fqfn, {"inputs": ["a"]})
    good = config(name, code())
    refused("No input topic.*400 Bad Request", api.create, fqfn, {**good, "inputs": []})
    refused("Tenant does not exist", api.create, "nobody/default/f", good)
    refused("Namespace does not exist", api.create, "public/nowhere/f", good)
    refused("has no attribute 'Absent'", api.create, fqfn, {**good, "className": f"{name}.Absent"})
    refused("url is not valid", api.create, fqfn, {**good, "py": "ftp://x/y.py"})
    missing = {**good, "py": code("import nothing_such")}
    refused("line 1 imports nothing_such, which is not installed", api.create, fqfn, missing)
    good["py"] = code()
    api.create(fqfn, good)
    refused("already exists", api.create, fqfn, good)
    refused("Update contains no change", api.update, fqfn, {"name": name})
    refused("Input Topics cannot be altered", api.update, fqfn, {"inputs": ["other"]})
    refused("doesn't have instance with id 1", api.status, fqfn, 1)
    refused("Operation not permitted", api.turn, fqfn, None, "start")
    refused("Operation not permitted", api.turn, fqfn, 5, "stop")
    refused("key 'k' doesn't exist", api.state, fqfn, "k")
    refused("Setting Counter values not", api.put_state, fqfn, {"key": "k", "numberValue": 1})
    refused("has unidentified topic", api.trigger, fqfn, b"x", "elsewhere")
    api.delete(fqfn)


def test_files_can_be_uploaded_and_fetched(api, tmp_path):
    file = tmp_path / "data.bin"
    file.write_bytes(bytes(range(256)) * 40_000)  # In chunks.
    api.upload(file, "some/where")
    assert api.download("some/where") == file.read_bytes()
    with pytest.raises(MagnetarError, match="nothing was uploaded to some/other"):
        api.download("some/other")


def test_the_worker_says_what_it_is(running, api, code, name):
    def ask(path: str, method: str = "GET"):
        request = urllib.request.Request(running.worker_url + path, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())

    (info,) = ask("/admin/v2/worker/cluster")
    assert info == ask("/admin/v2/worker/cluster/leader")
    assert set(info) == {"workerId", "workerHostname", "port"}
    assert ask("/admin/v2/worker/cluster/leader/ready") is True
    fqfn = f"public/default/{name}"
    api.create(fqfn, config(name, code(), parallelism=2))
    assert {f"{fqfn}:0", f"{fqfn}:1"} <= set(ask("/admin/v2/worker/assignments")[info["workerId"]])
    names = [each["name"] for each in ask("/admin/v2/worker-stats/functionsmetrics")]
    assert {f"{fqfn}:0", f"{fqfn}:1"} <= set(names)
    with pytest.raises(MagnetarError, match=r"2 instances of .* run in one Spark query"):
        api.turn(fqfn, 1, "restart")
    with pytest.raises(urllib.error.HTTPError, match="400"):
        ask("/admin/v2/worker/rebalance", "PUT")
    api.delete(fqfn)


def test_odd_names_and_values_are_refused_and_leave_nothing(running, api, code, name):
    fqfn = f"public/default/{name}"
    good = config(name, code())

    def posted(path: str, parts: dict[str, Part]) -> str:
        kind, body = form(parts, "boundary")
        url, headers = f"{running.worker_url}/admin/v3/functions{path}", {"Content-Type": kind}
        request = urllib.request.Request(url, body, headers, method="POST")
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(request)
        assert refusal.value.code == 400
        return json.loads(refusal.value.read())["reason"]

    told = {"functionConfig": Part(json.dumps(good).encode())}
    for odd in ("..", "a/", "a\x01.py"):
        said = posted(f"/{fqfn}", {**told, "data": Part(b"def process(i): pass", odd)})
        assert "give it the name of a file" in said
    said = posted(f"/{fqfn}", {**told, "data": Part(b"", "a" * 201)})
    assert said == "the package's name has more than 200 bytes"
    file = {**told, "data": Part(b"def process(i): pass", "a.py")}
    assert "have no slash" in posted(f"/public/default/a%2F{name}", file)
    for url in ("http://[", "http://a b/f.py", "http://localhost:x/f.py", "file:///"):
        said = posted(f"/{fqfn}", {**told, "url": Part(url.encode())})
        assert said.startswith(("Function Package url is not valid", "the package is called"))
    api.create(fqfn, good)
    state = Part(json.dumps({"key": "k", "byteValue": "no!"}).encode())
    assert "byteValue is no base64" in posted(f"/{fqfn}/state/k", {"state": state})
    api.delete(fqfn)


def test_of_two_who_create_a_function_at_once_one_is_refused(api, code, name):
    fqfn = f"public/default/{name}"
    good = config(name, code())

    def create(greeting: str) -> str:
        try:
            api.create(fqfn, {**good, "userConfig": {"greeting": greeting}})
        except MagnetarError as error:
            return str(error)
        return greeting

    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(create, ("one", "two")))
    assert sum("already exists" in each for each in said) == 1
    assert api.get(fqfn)["userConfig"]["greeting"] in said
    api.delete(fqfn)


def test_an_update_does_not_bring_back_what_is_deleted_meanwhile(api, code, name):
    fqfn = f"public/default/{name}"
    api.create(fqfn, config(name, code()))
    slow = code("import time\ntime.sleep(2)\ndef process(input):\n    return input\n")

    def update() -> None:
        with suppress(MagnetarError):
            api.update(fqfn, {"name": name, "py": slow})

    with ThreadPoolExecutor(1) as pool:
        updated = pool.submit(update)
        time.sleep(0.5)  # It is looked at whether the code can be imported.
        api.delete(fqfn)
        updated.result()
    assert name not in api.names("public", "default")


def test_a_trigger_does_not_mind_what_others_write_to_the_output(api, code, name):
    fqfn = f"public/default/{name}"
    text = f"NAME = {name!r}\n{STRANGER}"
    api.create(fqfn, config(name, code(text), className=f"{name}.Stranger"))
    assert api.trigger(fqfn, b"mine", None) == b"mine"
    api.delete(fqfn)


FAILS = """
class Fails:
    def process(self, input, context):
        if input == "none":
            raise LookupError("nothing is called none")
        return input
"""


def test_a_trigger_that_fails_names_the_exception_at_once(api, client, code, name):
    fqfn = f"public/default/{name}"
    api.create(fqfn, config(name, code(FAILS), className=f"{name}.Fails"))
    with client.create_producer(f"{name}-in") as producer:
        producer.send(b"none")
    runs(api, fqfn, numUserExceptions=1)  # That is of another message, and fails no trigger.
    assert api.trigger(fqfn, b"fine", None) == b"fine"
    began = time.monotonic()
    with pytest.raises(MagnetarError) as caught:
        api.trigger(fqfn, b"none", None)
    assert time.monotonic() - began < TIMEOUT_S / 2
    assert "The function failed: LookupError: nothing is called none (its status" in str(
        caught.value
    )
    api.delete(fqfn)
