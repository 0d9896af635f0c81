"""What some verbs do that is more than one request, by the name that their line has."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any, Final

from magnetar.clock import SystemClock
from magnetar.errors import InvalidValue, NotFound, Refused

from .call import Call
from .kinds import TOPIC, segment
from .verb import PREFIX

Step = Callable[[Call], Any]
_PAUSE_S: Final = 0.5
_SOURCE: Final = "PULSAR.SHADOW_SOURCE"
_PARTITIONED: Final = "application/vnd.partitioned-topic-metadata+json"


def backlog_quota(call: Call) -> Any:
    """The limit has to be the one of the quota's type."""
    by_age = call.given.get("type") == "message_age"
    option = "--limitTime" if by_age else "--limit"
    if call.given.get(option[2:]) is None:
        kind = "message_age" if by_age else "destination_storage"
        raise InvalidValue(f"a quota of type {kind} needs {option}")
    other = ("limit", "limitSize") if by_age else ("limitTime",)
    return call.send({**call.keys, **dict.fromkeys(other, -1)})


def offload_policies(call: Call) -> Any:
    """Keys that belong to drivers have the driver's prefix as well."""
    found: dict[str, object] = {}
    driver = call.given["driver"]
    prefixes = {"aws-s3": "s3", "S3": "s3", "google-cloud-storage": "gcs"}
    for param in call.verb.params:
        value, key = call.value(param), param.to
        if value is None or key.startswith(("{", "?")):
            continue
        if key == "driver":
            found["managedLedgerOffloadDriver"] = value
        elif key == "OffloadedReadPriority":
            found["managedLedgerOffloadedReadPriority"] = str(value).replace("-", "_").upper()
        elif key.startswith("Offload"):
            found[f"managedLedger{key}"] = value
        elif key in {"CredentialId", "CredentialSecret", "Role", "RoleSessionName"}:
            found[f"s3ManagedLedgerOffload{key}"] = value
        else:
            found[f"managedLedgerOffload{key}"] = value
            if driver in prefixes:
                found[f"{prefixes[driver]}ManagedLedgerOffload{key}"] = value
    return call.send(found)


def offload_threshold(call: Call) -> dict[str, Any]:
    size = call.api.get(call.path)
    seconds = call.api.get(f"{call.path}InSeconds")
    return {"offloadThresholdInBytes": size, "offloadThresholdInSeconds": seconds}


def set_offload_threshold(call: Call) -> None:
    call.api.send("PUT", call.path, call.given["size"])
    seconds = call.given.get("time")
    call.api.send("PUT", f"{call.path}InSeconds", -1 if seconds is None else seconds)


def create_namespace(call: Call) -> Any:
    body = call.keys
    bundles = body.pop("numBundles", None)
    return call.send({**body, **({"bundles": {"numBundles": bundles}} if bundles else {})})


def unload(call: Call) -> Any:
    if call.given.get("destinationBroker") and not call.given.get("bundle"):
        raise InvalidValue("--destinationBroker needs --bundle: only bundles go to a broker")
    return call.send()


def both_or_neither(call: Call) -> Any:
    if bool(call.given.get("namespace")) != bool(call.given.get("bundle")):
        raise InvalidValue("--namespace and --bundle go together: give both or neither")
    return call.send()


def list_topics(call: Call) -> list[str]:
    """Persistent ones, non-persistent ones, or both."""
    wanted = call.given.get("topic_domain")
    domains = ("persistent", "non-persistent")
    found: list[str] = []
    for domain in domains if wanted is None else (wanted.replace("_", "-"),):
        path = call.verb.path.format(domain=domain, namespace=call.given["namespace"])
        found += call.api.get(f"{PREFIX}/{path}", **call.query) or []
    return sorted(dict.fromkeys(found))


def partitioned_lookup(call: Call) -> Any:
    topic = call.given["topic"]
    partitions = call.send()["partitions"]
    if not partitions:
        raise Refused(f"{topic} is not a partitioned topic: magnetar admin topics lookup")
    brokers = {}
    for number in range(partitions):
        name = f"{topic}-partition-{number}"
        found = call.api.get(f"/lookup/v2/topic/{TOPIC.path(TOPIC.read(name))}")
        brokers[name] = found.get("brokerUrlTls") or found.get("brokerUrl")
    if not call.given.get("sort_by_broker"):
        return brokers
    return {
        str(broker): [name for name, one in brokers.items() if one == broker]
        for broker in dict.fromkeys(brokers.values())
    }


def create_partitioned(call: Call) -> Any:
    properties = call.given.get("metadata")
    if not properties:
        return call.send()
    body = {"partitions": call.given["partitions"], "deleted": False, "properties": properties}
    return call.api.ask(
        "PUT",
        call.path,
        json.dumps(body).encode(),
        query=call.query,
        headers={"Content-Type": _PARTITIONED},
    ).value()


def create_shadow(call: Call) -> Any:
    source = call.given["source"]
    partitions = call.api.get(f"{PREFIX}/{TOPIC.path(source)}/partitions")["partitions"]
    properties = {**(call.given.get("properties") or {}), _SOURCE: str(source)}
    if not partitions:
        return call.send(properties)
    body = {"partitions": partitions, "deleted": False, "properties": properties}
    headers = {"Content-Type": _PARTITIONED}
    path = f"{call.path}/partitions"
    return call.api.ask("PUT", path, json.dumps(body).encode(), headers=headers).value()


def shadow_source(call: Call) -> Any:
    return (call.send() or {}).get(_SOURCE)


def delete_topics(call: Call) -> list[str] | None:
    """One, those that a pattern fits, or those in a file. The names where there are several."""
    pattern, from_file = call.given.get("regex"), call.given.get("from_file")
    if not pattern and not from_file:
        call.send()
        return None
    if pattern and from_file:
        raise InvalidValue("give either --regex or --from-file")
    named = str(call.given["topic"])
    names = _lines(named) if from_file else _fitting(call, named)
    for name in names:
        path = f"{PREFIX}/{TOPIC.path(TOPIC.read(name))}"
        call.api.send("DELETE", path, **call.query)
    return names


def _lines(file: str) -> list[str]:
    return [line.strip() for line in read_file(file).decode().splitlines() if line.strip()]


def _fitting(call: Call, pattern: str) -> list[str]:
    """The topics of the pattern's namespace that it fits as a whole."""
    domain, separator, rest = pattern.rpartition("://")
    tenant, namespace, local = ["public", "default", *rest.split("/", 2)][-3:]
    domain = domain if separator else "persistent"
    names = call.api.get(f"{PREFIX}/{segment(domain)}/{segment(tenant)}/{segment(namespace)}")
    try:
        fits = re.compile(local)
    except re.error as error:
        raise InvalidValue(f"{local} is no regular expression: {error}") from error
    return [name for name in names if fits.fullmatch(name.split("/", 4)[-1])]


def excluding(call: Call) -> Any:
    """A position may be meant without itself."""
    if call.given.get("position") is None:
        return call.send()
    excluded = bool(call.given.get("exclude_reset_position"))
    return call.send({**call.keys, "excluded": excluded})


def reset_cursor(call: Call) -> Any:
    """A position, or a time so long ago."""
    if (position := call.given.get("messageId")) is not None:
        excluded = bool(call.given.get("exclude_reset_position"))
        return call.send({**position, "excluded": excluded})
    at = SystemClock().wall_ms() - call.given["time"]
    path = call.verb.path.partition("/resetcursor/")[0]
    topic, name = call.given["topic"], segment(segment(call.given["subscription"]))
    path = path.format(topic=TOPIC.path(topic), subscription=name)
    return call.api.send("POST", f"{PREFIX}/{path}/resetcursor/{at}")


def long_running(call: Call) -> Any:
    """What the API says of a piece of work; with -w when it has ended."""
    while True:
        said = call.send()
        if not call.given.get("wait_complete") or said.get("status") != "RUNNING":
            break
        Event().wait(_PAUSE_S)  # Nobody tells when it has ended.
    if said.get("status") == "ERROR":
        raise Refused(f"it failed: {said.get('lastError')}")
    return said


def offload(call: Call) -> Any:
    """Everything but the newest ledgers, which together are below the threshold."""
    topic, threshold = call.given["topic"], call.given["size_threshold"]
    stats = call.api.get(f"{PREFIX}/{TOPIC.path(topic)}/internalStats", metadata=False)
    ledgers = stats["ledgers"]
    if not ledgers:
        raise NotFound(f"{topic} has no ledgers")
    ledgers[-1]["size"] = stats["currentLedgerSize"]  # The open one says 0.
    kept, first, previous = 0, None, ledgers[-1]
    for ledger in reversed(ledgers):
        kept += ledger["size"]
        if kept > threshold:
            first = previous
            break
        previous = ledger
    if first is None:
        return "Nothing to offload"
    body = {"ledgerId": first["ledgerId"], "entryId": 0, "partitionIndex": -1, "batchIndex": -1}
    call.send(body)
    return f"Offload triggered for {topic} for messages before {first['ledgerId']}:0"


def create_tenant(call: Call) -> Any:
    clusters = call.given.get("allowed_clusters") or call.api.get(f"{PREFIX}/clusters")
    roles = call.given.get("admin_roles") or []
    return call.send({"adminRoles": roles, "allowedClusters": clusters})


def update_tenant(call: Call) -> Any:
    now = call.api.get(call.path)
    roles, clusters = call.given.get("admin_roles"), call.given.get("allowed_clusters")
    return call.send(
        {
            "adminRoles": now["adminRoles"] if roles is None else roles,
            "allowedClusters": now["allowedClusters"] if clusters is None else clusters,
        }
    )


def list_clusters(call: Call) -> list[str]:
    names: list[str] = call.send()
    if not call.given.get("current"):
        return names
    mine = call.api.get(f"{PREFIX}/brokers/configuration/runtime").get("clusterName")
    return [f"{name}(*)" if name == mine else name for name in names]


def cluster_data(call: Call) -> Any:
    file = call.given.get("cluster_config_file")
    return call.send({**({} if file is None else read_yaml(file)), **call.keys})


def delete_cluster(call: Call) -> Any:
    if call.given.get("all"):
        raise Refused("--all is not done: delete its tenants first, magnetar admin tenants delete")
    return call.send()


def isolation_policy(call: Call) -> Any:
    body = call.keys
    policy = {"policy_type": body.pop("policy_type"), "parameters": body.pop("parameters")}
    return call.send({**body, "auto_failover_policy": policy})


def schema_file(call: Call) -> Any:
    text = read_file(call.given["filename"])
    try:
        schema = json.loads(text)
    except ValueError as error:
        raise InvalidValue(f"{call.given['filename']} is no JSON: {error}") from error
    return call.send(schema)


def upload_package(call: Call) -> Any:
    import secrets  # noqa: PLC0415 - just here

    from magnetar.functions.worker.multipart import Part, form  # noqa: PLC0415

    file = Path(call.given["path"])
    described = json.dumps(call.body).encode()
    parts = {
        "file": Part(read_file(file), file.name, "application/octet-stream"),
        "metadata": Part(described, content_type="application/json"),
    }
    content_type, body = form(parts, secrets.token_hex(16))
    return call.api.ask("POST", call.path, body, headers={"Content-Type": content_type}).value()


def download_package(call: Call) -> str:
    answer = call.api.ask("GET", call.path, headers={"Accept": "*/*"})
    try:
        Path(call.given["path"]).write_bytes(answer.body)
    except OSError as error:
        raise InvalidValue(f"cannot write {call.given['path']}: {error.strerror}") from error
    return f"Downloaded {call.given['path']}"


def read_file(file: str | Path, option: str = "") -> bytes:
    """What a file has that ``option`` names, with a space behind. Raises InvalidValue."""
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise InvalidValue(f"cannot read {option}{file}: {error.strerror}") from error


def read_yaml(file: str | Path, option: str = "") -> dict[str, Any]:
    """The keys and values of a file, as ``read_file``. Raises InvalidValue."""
    import yaml  # noqa: PLC0415 - just here

    try:
        found = yaml.safe_load(read_file(file, option))
    except yaml.YAMLError as error:
        raise InvalidValue(f"{option}{file} is no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(found, dict):
        raise InvalidValue(f"{option}{file} has no keys")
    return found
