"""The routes of the functions worker: Pulsar's /admin/v3/functions and /admin/v2/worker."""

import json
import logging
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from magnetar.errors import InvalidValue
from magnetar.functions.config_checks import without_effect
from magnetar.functions.worker.cluster import Asked, WorkerCluster
from magnetar.functions.worker.multipart import TYPE, Part, parts_of
from magnetar.functions.worker.states import States, value_of
from magnetar.functions.worker.worker import FunctionsWorker, file_name_of, package_from
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Reply, Request, done, shown
from magnetar.rest.router import ANY, Handler, Route

log = logging.getLogger(__name__)

OCTETS: Final = "application/octet-stream"
WORKERS_MIN: Final = 2
"""To divide functions among so many makes sense."""


@dataclass(frozen=True, slots=True)
class WorkerServices:
    """Every handler of a route gets these."""

    worker: FunctionsWorker
    state: States
    cluster: WorkerCluster

    async def ask(self, route: Route, request: Request, handler: Handler) -> Reply:
        """Answer where this worker is the one to ask. Raises NotOwner, which says who is."""
        name = _fqfn(request) if "name" in request.segments else ""
        await self.cluster.check(route.about, name)
        return await handler()


def _fqfn(request: Request) -> str:
    parts = [unquote(request.segments[part]) for part in ("tenant", "namespace", "name")]
    if any("/" in part for part in parts):
        raise Rejection(400, f"tenant, namespace and name have no slash: {' '.join(parts)}")
    return "/".join(parts)


def _instance(request: Request) -> int:
    sent = request.segments["instance"]
    if not sent.isdecimal() or len(sent) > 9:
        raise Rejection(404, f"The instance in the path is a whole number, not '{sent}'")
    return int(sent)


def _parts(request: Request) -> dict[str, Part]:
    try:
        return parts_of(request.content_type or "", request.body)
    except InvalidValue as error:
        raise Rejection(400, str(error)) from error


def _config(parts: dict[str, Part]) -> dict[str, Any]:
    part = parts.get("functionConfig")
    if part is None:
        raise Rejection(400, "Function config is not provided")
    try:
        found = json.loads(part.data)
    except ValueError as error:
        raise Rejection(400, f"functionConfig is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise Rejection(400, "functionConfig is no JSON object")
    return found


async def _package(parts: dict[str, Part], given: dict[str, Any]) -> Part | None:
    """The package that was sent, or that a URL names."""
    part = parts.get("data")
    if part is not None:
        return Part(part.data, file_name_of(part.file_name or str(given.get("py") or "")))
    url = parts.get("url")
    return None if url is None else await package_from(url.text)


async def list_functions(services: WorkerServices, request: Request) -> Reply:
    tenant, namespace = (unquote(request.segments[part]) for part in ("tenant", "namespace"))
    return shown(services.worker.names(tenant, namespace))


async def get(services: WorkerServices, request: Request) -> Reply:
    return shown(services.worker.get(_fqfn(request)).config.shown())


async def create(services: WorkerServices, request: Request) -> Reply:
    parts = _parts(request)
    given = _config(parts)
    package = await _package(parts, given)
    if package is None:
        raise Rejection(400, "Function Package is not provided")
    await services.worker.create(_fqfn(request), given, package)
    return _done(services, request)


async def update(services: WorkerServices, request: Request) -> Reply:
    parts = _parts(request)
    given = _config(parts)
    await services.worker.update(_fqfn(request), given, await _package(parts, given))
    return _done(services, request)


def _done(services: WorkerServices, request: Request) -> Reply:
    """Done; what was given and has no effect is named in a header."""
    _log_change(request)
    ignored = without_effect(services.worker.get(_fqfn(request)).config)
    reply = done()
    if ignored:
        reply.headers["X-Magnetar-Without-Effect"] = ", ".join(ignored)
    return reply


async def delete(services: WorkerServices, request: Request) -> Reply:
    await services.worker.delete(_fqfn(request))
    _log_change(request)
    return done()


def _log_change(request: Request) -> None:
    """Who had the worker's code changed; without a broker in between nobody knows."""
    log.info(
        "function.changed method=%s name=%s role=%s", request.method, _fqfn(request), request.role
    )


async def status(services: WorkerServices, request: Request) -> Reply:
    return shown(services.worker.status(_fqfn(request)))


async def stats(services: WorkerServices, request: Request) -> Reply:
    return shown(services.worker.stats(_fqfn(request)))


async def instance_status(services: WorkerServices, request: Request) -> Reply:
    return shown(_of_instance(services.worker.status(_fqfn(request)), request)["status"])


async def instance_stats(services: WorkerServices, request: Request) -> Reply:
    return shown(_of_instance(services.worker.stats(_fqfn(request)), request)["metrics"])


def _of_instance(whole: dict[str, Any], request: Request) -> Any:
    number = _instance(request)
    if number >= len(whole["instances"]):
        name = unquote(request.segments["name"])
        raise Rejection(400, f"Function {name} doesn't have instance with id {number}")
    return whole["instances"][number]


async def start(services: WorkerServices, request: Request) -> Reply:
    await services.worker.turn(_fqfn(request), _instance_or_all(request), running=True)
    return done()


async def stop(services: WorkerServices, request: Request) -> Reply:
    await services.worker.turn(_fqfn(request), _instance_or_all(request), running=False)
    return done()


async def restart(services: WorkerServices, request: Request) -> Reply:
    await services.worker.restart(_fqfn(request), _instance_or_all(request))
    return done()


def _instance_or_all(request: Request) -> int | None:
    return _instance(request) if "instance" in request.segments else None


async def trigger(services: WorkerServices, request: Request) -> Reply:
    parts = _parts(request)
    data = parts.get("dataStream", parts.get("data"))
    services.worker.get(_fqfn(request))
    if data is None:
        raise Rejection(400, "Trigger Data is not provided")
    topic = parts["topic"].text if "topic" in parts else None
    answer = await services.worker.trigger(_fqfn(request), data.data, topic)
    return done() if answer is None else Reply(200, answer, "application/json")


async def get_state(services: WorkerServices, request: Request) -> Reply:
    key = unquote(request.segments["key"])
    found = await services.state.get(services.worker.get(_fqfn(request)).config, key)
    if found is None:
        raise Rejection(404, f"key '{key}' doesn't exist.")
    return shown({"key": key, **found})


async def put_state(services: WorkerServices, request: Request) -> Reply:
    key = unquote(request.segments["key"])
    config = services.worker.get(_fqfn(request)).config
    part = _parts(request).get("state")
    try:
        given = json.loads(part.data) if part is not None else None
    except ValueError as error:
        raise Rejection(400, f"state is no JSON: {error}") from error
    if not isinstance(given, dict):
        raise Rejection(400, "state is no JSON object")
    if given.get("key") != key:
        raise Rejection(400, "Path key doesn't match key in json")
    try:
        value = value_of(given)
    except ValueError as error:
        raise Rejection(400, f"byteValue is no base64: {error}") from error
    if value is None:
        raise Rejection(400, "Setting Counter values not supported in put state")
    await services.state.put(config, key, value)
    await services.worker.state_changed(config.fqfn)
    return done()


async def upload(services: WorkerServices, request: Request) -> Reply:
    parts = _parts(request)
    if "data" not in parts or "path" not in parts:
        raise Rejection(400, "Function Package is not provided: send data and path")
    await services.worker.packages.upload(parts["path"].text, parts["data"].data)
    return done()


async def download(services: WorkerServices, request: Request) -> Reply:
    path = request.query.get("path")
    if not path:
        raise Rejection(400, "path is missing: say under which one the file was uploaded")
    return Reply(200, await services.worker.packages.download(path), OCTETS)


async def download_function(services: WorkerServices, request: Request) -> Reply:
    return Reply(200, await services.worker.code(_fqfn(request)), OCTETS)


async def nothing(_services: WorkerServices, _request: Request) -> Reply:
    """What Pulsar has, and a worker for Python on Spark has not: connectors, built-in functions."""
    return shown([])


async def cluster(services: WorkerServices, _: Request) -> Reply:
    members, _leader = await services.cluster.members.look()
    return shown([each.shown() for each in members.values()])


async def leader(services: WorkerServices, _: Request) -> Reply:
    return shown((await services.cluster.leader()).shown())


async def ready(services: WorkerServices, _request: Request) -> Reply:
    """Whether there is a leader. Raises NotReady where there is none."""
    await services.cluster.leader()
    return shown(True)


async def assignments(services: WorkerServices, _: Request) -> Reply:
    found: dict[str, list[str]] = {}
    for record in services.worker.all():
        worker = services.cluster.runners.get(record.config.fqfn)
        if worker is not None and record.running:
            instances = range(record.config.parallelism)
            found.setdefault(worker, []).extend(f"{record.config.fqfn}:{one}" for one in instances)
    return shown(found)


async def rebalance(services: WorkerServices, _request: Request) -> Reply:
    members, _leader = await services.cluster.members.look()
    if len(members) < WORKERS_MIN:
        raise Rejection(400, f"Too few workers (need at least {WORKERS_MIN})")
    await services.cluster.rebalance()
    return done()


async def settled(services: WorkerServices, request: Request) -> Reply:
    """For the leader, which waits until a function has ended here as it was."""
    if not await services.worker.settled(_fqfn(request)):
        raise Rejection(503, f"{_fqfn(request)} has not ended yet")
    return done()


async def functions_metrics(services: WorkerServices, _: Request) -> Reply:
    return shown(services.worker.metrics())


_ALL: Final = "/admin/v3/functions"
_ONE: Final = f"{_ALL}/{{tenant}}/{{namespace}}/{{name}}"
_INSTANCE: Final = f"{_ONE}/{{instance}}"

ROUTES: Final = (
    Route("POST", f"{_ALL}/upload", upload, takes=(TYPE,)),
    Route("GET", f"{_ALL}/download", download, gives=ANY),
    Route("GET", f"{_ALL}/connectors", nothing),
    Route("GET", f"{_ALL}/builtins", nothing),
    Route("GET", f"{_ALL}/{{tenant}}/{{namespace}}", list_functions, about=Asked.LEADER),
    Route("GET", _ONE, get, about=Asked.LEADER),
    Route("POST", _ONE, create, about=Asked.LEADER, takes=(TYPE,)),
    Route("PUT", _ONE, update, about=Asked.LEADER, takes=(TYPE,)),
    Route("DELETE", _ONE, delete, about=Asked.LEADER),
    Route("GET", f"{_ONE}/status", status, about=Asked.RUNNER),
    Route("GET", f"{_ONE}/stats", stats, about=Asked.RUNNER),
    Route("GET", f"{_INSTANCE}/status", instance_status, about=Asked.RUNNER),
    Route("GET", f"{_INSTANCE}/stats", instance_stats, about=Asked.RUNNER),
    Route("POST", f"{_ONE}/start", start, about=Asked.LEADER),
    Route("POST", f"{_ONE}/stop", stop, about=Asked.LEADER),
    Route("POST", f"{_ONE}/restart", restart, about=Asked.RUNNER),
    Route("POST", f"{_INSTANCE}/start", start, about=Asked.LEADER),
    Route("POST", f"{_INSTANCE}/stop", stop, about=Asked.LEADER),
    Route("POST", f"{_INSTANCE}/restart", restart, about=Asked.RUNNER),
    Route("POST", f"{_ONE}/trigger", trigger, about=Asked.RUNNER, takes=(TYPE,), gives=ANY),
    Route("GET", f"{_ONE}/state/{{key}}", get_state, about=Asked.RUNNER),
    Route("POST", f"{_ONE}/state/{{key}}", put_state, about=Asked.RUNNER, takes=(TYPE,)),
    Route("GET", f"{_ONE}/download", download_function, about=Asked.LEADER, gives=ANY),
    Route("GET", "/admin/v2/worker/cluster", cluster),
    Route("GET", "/admin/v2/worker/cluster/leader", leader),
    Route("GET", "/admin/v2/worker/cluster/leader/ready", ready),
    Route("GET", "/admin/v2/worker/assignments", assignments),
    Route("GET", "/admin/v2/worker/settled/{tenant}/{namespace}/{name}", settled),
    Route("GET", "/admin/v2/worker/connectors", nothing),
    Route("PUT", "/admin/v2/worker/rebalance", rebalance, about=Asked.LEADER),
    Route("GET", "/admin/v2/worker-stats/functionsmetrics", functions_metrics),
    Route("GET", "/admin/v2/worker-stats/metrics", nothing),
)
"""Every route of a worker."""
