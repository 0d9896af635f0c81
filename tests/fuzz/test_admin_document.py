"""Requests that the OpenAPI document allows, and others: none is a failure of ours.

``make schemathesis`` makes many for every operation; here there are a few for some of them, always
the same. Something of each kind exists, so that requests get behind the first check.
"""

import os
import random
from contextlib import contextmanager

import pytest
import requests
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from magnetar.broker.admin.routes.table import ROUTES
from magnetar.rest.openapi import document
from magnetar.testing.local_broker import BrokerThread

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "2"))
OPERATIONS = int(os.environ.get("SCHEMATHESIS_OPERATIONS", "20"))
SEED = int(os.environ.get("SCHEMATHESIS_SEED", "14"))

ENDLESS = {"/admin/v2/magnetar/events", "{topic}/messages/tail"}
EXISTING = {
    "cluster": "standalone",
    "tenant": "public",
    "namespace": "fuzz",
    "topic": "t",
    "subscription": "s",
    "domain": "persistent",
    "bundle": "0x00000000_0xffffffff",
    "ledger": 0,
    "entry": 0,
    "position": 1,
    "count": 1,
    "timestamp": 0,
}
WHERE = "/admin/v2/persistent/public/fuzz/t"
MADE = [
    ("PUT", "/admin/v2/clusters/standalone", {"serviceUrl": "http://localhost:8080"}),
    ("PUT", "/admin/v2/tenants/public", {"adminRoles": [], "allowedClusters": ["standalone"]}),
    ("PUT", "/admin/v2/namespaces/public/fuzz", {"bundles": {"numBundles": 1}}),
    ("PUT", WHERE, {"owner": "me"}),
    ("PUT", f"{WHERE}/subscription/s", "earliest"),
    ("POST", "/topics/persistent/public/fuzz/t", {"messages": [{"key": "k", "payload": "x"}]}),
]


@pytest.fixture(scope="module")
def operations():
    import schemathesis  # noqa: PLC0415 - it takes seconds, and every process collects this file

    schema = schemathesis.openapi.from_dict(document(ROUTES, version="0"))
    found = [each.ok() for each in schema.get_all_operations()]
    found = [each for each in found if not each.path.endswith(tuple(ENDLESS))]
    random.Random(SEED).shuffle(found)
    return found


@pytest.fixture(scope="module")
def web_url():
    with BrokerThread() as broker:
        yield broker.web_url


@pytest.fixture(scope="module")
def session():
    with requests.Session() as opened:
        yield opened


@contextmanager
def answered(session, *asked, **more):
    """An answer of the broker's, none of which is a failure, and nobody is cut off."""
    with session.request(*asked, timeout=20, allow_redirects=False, **more) as answer:
        body = answer.content
        assert answer.status_code < 500 or answer.status_code == 503, (asked, answer, body[:2000])
        yield answer


@pytest.mark.parametrize("number", range(OPERATIONS))
def test_no_request_is_a_failure_of_ours(number, operations, web_url, session):
    from schemathesis import GenerationMode  # noqa: PLC0415 - as above

    if number >= len(operations):
        pytest.skip(f"there are {len(operations)} operations")
    operation = operations[number]
    print(f"SCHEMATHESIS_SEED={SEED} {operation.label}")
    for method, path, body in MADE:
        with answered(session, method, f"{web_url}{path}", json=body):
            pass

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        case=st.one_of(map(operation.as_strategy, GenerationMode)),
        strange=st.none() | st.sampled_from(list(EXISTING)),
    )
    def ask(case, strange):
        real = case.path_parameters.keys() & EXISTING.keys() - {strange}
        case.path_parameters.update({name: EXISTING[name] for name in real})
        said = case.as_transport_kwargs(base_url=web_url)
        with answered(session, said.pop("method"), said.pop("url"), **said):
            pass

    ask()
