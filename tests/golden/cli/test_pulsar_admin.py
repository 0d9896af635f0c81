"""Pulsar's own command line, beside ours: its verbs and options, and what each asks.

``pulsar_admin_verbs.json`` was written from the option parser of pulsar-admin 4.0.6 (its jars of
4.0.7 are not published), and ``pulsar_admin_requests.jsonl`` is what it asked a recording server.
"""

import json
import re
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, unquote

import click
import pytest
from click.testing import CliRunner

from magnetar.tools.admin.command import GROUPS, admin
from magnetar.tools.connection import connection_parameters

HERE = Path(__file__).parent
VERBS = json.loads((HERE / "pulsar_admin_verbs.json").read_text())
REQUESTS = [
    json.loads(line) for line in (HERE / "pulsar_admin_requests.jsonl").read_text().splitlines()
]

# Groups and verbs of pulsar-admin's that are not tables of ours, and why.
ELSEWHERE = {
    "sources": "refused by name: connectors are Java",
    "source": "refused by name: connectors are Java",
    "sinks": "refused by name: connectors are Java",
    "sink": "refused by name: connectors are Java",
    "documents": "ours writes our own help",
}
MISSING = {
    "topics delete regex": "without dashes it is no option: -r or --regex",
    "functions getstatus": "an older name of status",
    "functions reload": "built-in functions are Java: there are none",
    "functions available-functions": "as above",
    "functions querystate -w": "it would ask for ever; a shell's loop does",
    "functions querystate --watch": "as above",
    "functions download --transform-function": "functions that transform sinks are Java",
    "functions create -t": "--function-type, which is refused: it names a built-in one",
    "functions update -t": "as above",
    "functions localrun -t": "as above",
}
"""Verbs and options that we lack, and why."""


def command_of(group, verb):
    context = click.Context(admin)
    found = admin.get_command(context, group)
    return found and found.get_command(context, verb)


@pytest.mark.parametrize("group", sorted({one["group"] for one in VERBS} - ELSEWHERE.keys()))
def test_every_verb_has_every_option_of_pulsar_admins(group):
    missing = []
    for verb in (one for one in VERBS if one["group"] == group):
        command = command_of(group, verb["verb"])
        if command is None:
            missing.append(f"{group} {verb['verb']}")
            continue
        ours = {name for one in command.params for name in one.opts}
        missing += [
            f"{group} {verb['verb']} {name}"
            for names in verb["options"]
            for name in names
            if name not in ours
        ]
        arguments = [one for one in command.params if isinstance(one, click.Argument)]
        if len(arguments) != verb["arguments"] and verb["verb"] != "extract":
            missing.append(f"{group} {verb['verb']} takes {verb['arguments']} arguments")
    assert [one for one in missing if one not in MISSING] == []


def test_groups_that_are_elsewhere_are_known():
    for group in ELSEWHERE:
        assert admin.get_command(click.Context(admin), group) is not None
    assert {one["group"] for one in VERBS} - {"persistent", "non-persistent", "properties"} <= (
        set(GROUPS) | {"source", "sink"}
    )


class Recorder(BaseHTTPRequestHandler):
    """Answers each question as it was answered to pulsar-admin, and keeps it."""

    asked: list
    answer = b"{}"
    protocol_version = "HTTP/1.1"

    def record(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        path, _, query = self.path.partition("?")
        kind = self.headers.get("Content-Type", "")
        self.asked.append(
            {"method": self.command, "path": path, "query": query, "type": kind, "body": body}
        )
        said = answer_to(self.command, path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST = do_PUT = do_DELETE = record  # noqa: N815 - the names it calls

    def log_message(self, *_):
        pass


LEDGERS = [{"ledgerId": number, "size": size} for number, size in ((1, 100), (2, 100), (3, 0))]
ANSWERS = {
    "/partitions": {"partitions": 3},
    "/internalStats": {"ledgers": LEDGERS, "currentLedgerSize": 50},
    "/clusters": [],
    "/tenants/t": {"adminRoles": ["old"], "allowedClusters": ["c0"]},
    "/compaction": {"status": "SUCCESS"},
    "/offload": {"status": "SUCCESS"},
    "/persistent/t/n": [],
    "/partitioned": [],
}


def answer_to(method, path):
    if method != "GET":
        return b""
    return next(
        (json.dumps(said).encode() for end, said in ANSWERS.items() if path.endswith(end)), b"{}"
    )


@pytest.fixture(scope="module")
def recorder():
    handler = type("It", (Recorder,), {"asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", handler.asked
    server.shutdown()
    thread.join()
    server.server_close()


SCHEMA = '{"type":"STRING","schema":"","properties":{"k":"v"}}'

# What we ask otherwise, and why: the verb, or the verb and an option.
DIFFERENT = {
    "clusters delete c -a": "it deletes tenants, which we do not at once",
    "namespaces get-anti-affinity-namespaces": "pulsar-admin asks the API of Pulsar 1",
    "namespaces list-cluster": "as above; refused by name here",
    "namespaces set-schema-autoupdate-strategy t/n --compatibility FULL --dis": "either, not both",
    "clusters list": "the second question is for the mark of --current alone",
    "reset-cursor persistent://t/n/a -s val --time 3h --messageId 5:6": "either, not both",
    "topics delete persistent://t/n/a -r": "a pattern is of persistent topics, or says its domain",
    "packages update-metadata": "pulsar-admin takes b,c=d for the value of a",
    "packages upload": "as above",
    "namespaces set-properties t/n --properties a=b,c=d": "as above",
    "topics set-backlog-quota persistent://t/n/a -p producer_request_hold": "it needs a limit",
    "topics stats persistent://t/n/x/y": "a name of Pulsar 1 there, a topic x/y here",
    "topics set-backlog-quota persistent://t/n/a -l 20M -lt 3h": "the time is of the other type",
}


def different(args):
    line = " ".join(args)
    return any(one in line for one in DIFFERENT)


def plain(request):
    """What matters of a request: defaults that the broker has anyway are left out."""
    body = request.get("body")
    if isinstance(body, bytes):
        body = body.decode()
    if request.get("type", "").startswith("multipart"):
        body = "a form"
    elif body:
        with suppress(ValueError):  # A text as it stands.
            body = without_defaults(json.loads(body))
    query = dict(parse_qsl(request.get("query") or "", keep_blank_values=True))
    query = {key: value for key, value in query.items() if value not in {"false", ""}}
    query = {key: value for key, value in query.items() if (key, value) not in HELD_ANYWAY}
    path = re.sub(r"resetcursor/\d+", "resetcursor/then", unquote(request["path"]))
    return request["method"], path, query, body or None


def without_defaults(value):
    """Neither empty collections, nor false, nor -1."""
    if isinstance(value, dict):
        kept = {key: without_defaults(each) for key, each in value.items() if key not in FILLED}
        return {key: each for key, each in kept.items() if each not in ({}, [], False, None)}
    if isinstance(value, list):
        return sorted(map(str, value))
    return value


HELD_ANYWAY = {("deleteSchema", "true"), ("subscriptionBacklogSize", "true"), ("messageTTL", "0")}
FILLED = {  # What Java's client writes into every such object, and no broker needs.
    "batchSize",
    "createTime",
    "modificationTime",
    "brokerClientTlsTrustStoreType",
    "brokerClientTlsKeyStoreType",
    "brokerClientSslFactoryPlugin",
    "offloadersDirectory",
    "managedLedgerOffloadMaxThreads",
    "managedLedgerOffloadPrefetchRounds",
    "s3Driver",
    "gcsDriver",
    "fileSystemDriver",
    "gcsManagedLedgerOffloadMaxBlockSizeInBytes",
    "gcsManagedLedgerOffloadReadBufferSizeInBytes",
    "s3ManagedLedgerOffloadMaxBlockSizeInBytes",
    "s3ManagedLedgerOffloadReadBufferSizeInBytes",
    "s3ManagedLedgerOffloadRoleSessionName",
    "managedLedgerOffloadMaxBlockSizeInBytes",
    "managedLedgerOffloadReadBufferSizeInBytes",
    "subscription_auth_mode",
    "offload_threshold",
    "offload_threshold_in_seconds",
    "schema_compatibility_strategy",
}


@pytest.mark.parametrize("group", sorted({one["args"][0] for one in REQUESTS}))
def test_what_is_asked_is_what_pulsar_admin_asks(recorder, group, tmp_path):
    url, asked = recorder
    (tmp_path / "schema.json").write_text(SCHEMA)
    (tmp_path / "pkg.bin").write_text("data")
    wrong = []
    for one in REQUESTS:
        if one["args"][0] != group:
            continue
        asked.clear()
        args = [word.replace("FOLDER", str(tmp_path)) for word in one["args"]]
        said = CliRunner().invoke(admin, ["--admin-url", url, *args])
        ours = [plain(request) for request in asked]
        theirs = [plain(request) for request in one["requests"]]
        if not any(one in ours for one in theirs) and not different(one["args"]):
            wrong.append((one["args"], theirs, ours, said.output[-200:], repr(said.exception)))
    for args, theirs, ours, output, error in wrong:
        print(" ".join(args), "\n  theirs", theirs, "\n  ours  ", ours, output, error)
    assert not wrong


def test_the_options_of_a_connection_may_stand_before_and_behind():
    names = {name for one in connection_parameters() for name in one.opts}
    assert {"--admin-url", "--auth-plugin", "--auth-params", "--tls-trust-cert-path"} <= names
