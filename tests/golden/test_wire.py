"""Recorded conversations with Apache Pulsar 4.0.7, played against our broker."""

import os

import pytest
from golden import conversation
from golden.brokers import broker_for
from golden.differences import DOCUMENT, OTHERWISE, Known, document, known, missing, unlisted
from golden.replay import Difference, Replay
from support.by_proxy import edge_of
from support.loop import pass_time
from support.on_cluster import on_cluster

PLAYED: dict[str, list[Difference]] = {}
WAITING = sorted(name for names in OTHERWISE.values() for name in names)
COMPARED = [name for name in conversation.names() if name not in WAITING]

IN_CLUSTER = Known(
    number=-1,
    conversations=["*"],
    command="LOOKUP_RESPONSE",
    field="proxy_through_service_url",
    pulsar=True,  # What was recorded is alone.
    magnetar=False,
    reason="a client that knows several brokers may go on with the address of any",
    lines=None,
)


async def differences_of(name: str) -> list[Difference]:
    if name not in PLAYED:
        recorded = conversation.load(name)
        async with broker_for(recorded) as broker:
            PLAYED[name] = await replay(recorded, broker, missing=missing(name))
    return PLAYED[name]


async def replay(recorded, broker, *, pass_to=None, **options) -> list[Difference]:
    async with edge_of(broker) as (port, web_port, behind_proxy):
        options |= {"behind_proxy": behind_proxy, "pass_to": pass_to or broker.pass_to}
        return await Replay(recorded, port, web_port, **options).run()


@pytest.mark.parametrize("name", COMPARED)
async def test_our_broker_answers_as_pulsar_did(name):
    expected = [*known(), IN_CLUSTER] if on_cluster() else known()
    found = unlisted(await differences_of(name), expected)
    assert not found, "unlisted differences:\n" + "\n".join(map(str, found))


@pytest.mark.parametrize("name", WAITING)
async def test_a_conversation_that_goes_on_otherwise_still_does(name):
    recorded = conversation.load(name)

    def new(difference: Difference) -> bool:
        return bool(unlisted([difference], known()))

    async with broker_for(recorded) as broker:
        found = await replay(recorded, broker, answer_timeout_s=0.05, enough=new)
    assert any(map(new, found)), f"{name}: it goes on as Pulsar did; take it out of OTHERWISE"


@pytest.mark.parametrize(
    "name", ["ack-batch-index", "last-message-id", "redeliver-shared", "send", "unload"]
)
async def test_it_answers_the_same_from_disk(tmp_path, name):
    recorded = conversation.load(name)
    async with broker_for(recorded, tmp_path) as broker:
        found = await replay(recorded, broker, missing=missing(name))
    assert not unlisted(found, known())


async def test_a_slow_machine_is_answered_the_same():
    """A failover's delay was not over when this conversation ended, and is not with us."""
    recorded = conversation.load("subscribe-types")
    async with broker_for(recorded) as broker:

        async def slowly(ms: int) -> None:
            await pass_time(0.5)
            await broker.pass_to(ms)

        found = await replay(recorded, broker, pass_to=slowly)
    assert not unlisted(found, known())


@pytest.mark.parametrize("entry", known(), ids=lambda entry: f"{entry.command}-{entry.number}")
async def test_a_listed_difference_still_differs(entry):
    for name in COMPARED:
        if entry.concerns(name):
            found = any(entry.covers(one) for one in await differences_of(name))
            if found and entry.conversations == ["*"]:
                return
            assert found or entry.conversations == ["*"], (
                f"{name}: no longer differs; take it out of wire/differences.json"
            )
    assert entry.conversations != ["*"], "differs nowhere; take it out of wire/differences.json"


def test_the_document_says_what_the_table_says():
    text = document(known())
    if os.environ.get("REWRITE"):
        DOCUMENT.write_text(text)
    assert DOCUMENT.read_text() == text, "run it with REWRITE=1 and look at the diff"
