"""Recorded conversations with Apache Pulsar 4.0.7, played against our broker."""

import os

import pytest
from golden import conversation
from golden.brokers import broker_for
from golden.differences import DOCUMENT, NOT_THERE_YET, document, known, missing, unlisted
from golden.replay import Difference, Replay

PLAYED: dict[str, list[Difference]] = {}
WAITING = sorted(name for names in NOT_THERE_YET.values() for name in names)
COMPARED = [name for name in conversation.names() if name not in WAITING]


async def differences_of(name: str) -> list[Difference]:
    if name not in PLAYED:
        recorded = conversation.load(name)
        async with broker_for(recorded) as broker:
            PLAYED[name] = await Replay(
                recorded,
                broker.port,
                broker.web_port,
                missing=missing(name),
                pass_to=broker.pass_to,
            ).run()
    return PLAYED[name]


@pytest.mark.parametrize("name", COMPARED)
async def test_our_broker_answers_as_pulsar_did(name):
    found = unlisted(await differences_of(name), known())
    assert not found, "unlisted differences:\n" + "\n".join(map(str, found))


@pytest.mark.parametrize("name", WAITING)
async def test_a_feature_that_is_not_there_yet_still_differs(name):
    recorded = conversation.load(name)

    def new(difference: Difference) -> bool:
        return bool(unlisted([difference], known()))

    async with broker_for(recorded) as broker:
        ports = broker.port, broker.web_port
        found = await Replay(recorded, *ports, answer_timeout_s=0.05, enough=new).run()
    assert any(map(new, found)), f"{name}: the feature is there; take it out of NOT_THERE_YET"


@pytest.mark.parametrize(
    "name", ["ack-batch-index", "last-message-id", "redeliver-shared", "send", "unload"]
)
async def test_it_answers_the_same_from_disk(tmp_path, name):
    recorded = conversation.load(name)
    async with broker_for(recorded, tmp_path) as broker:
        found = await Replay(recorded, broker.port, broker.web_port, missing=missing(name)).run()
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
