import pytest
from support.loop import until
from support.offloading import MemoryOffloader

from magnetar.model.offload_policies import DRIVERS

ALL = "/admin/v2/persistent/public/default"
NAMESPACE = "/admin/v2/namespaces/public/default"
NAME = "persistent://public/default/x"
FOLDER = {"managedLedgerOffloadDriver": "filesystem", "fileSystemURI": "/srv"}


async def test_policies_are_set_shown_and_removed_at_each_level(world):
    await world.publish(NAME, 1)
    for path, removed in (
        (f"{NAMESPACE}/offloadPolicies", f"{NAMESPACE}/removeOffloadPolicies"),
        (f"{ALL}/x/offloadPolicies", f"{ALL}/x/offloadPolicies"),
    ):
        assert (await world.ask("GET", path)).text == ""
        assert (await world.ask("POST", path, FOLDER)).status == 204
        assert (await world.ask("GET", path)).json.items() >= FOLDER.items()
        assert (await world.ask("DELETE", removed)).status == 204
        assert (await world.ask("GET", path)).text == ""


async def test_what_holds_is_made_of_all_levels(world):
    await world.publish(NAME, 1)
    await world.ask("POST", f"{NAMESPACE}/offloadPolicies", FOLDER)
    own = {**FOLDER, "managedLedgerOffloadThresholdInBytes": 5}
    await world.ask("POST", f"{ALL}/x/offloadPolicies", own)
    shown = await world.ask("GET", f"{ALL}/x/offloadPolicies?applied=true")
    assert shown.json.items() >= own.items()


@pytest.mark.parametrize(
    ("sent", "status", "reason"),
    [
        (b"", 412, "The offloadPolicies must be specified for namespace offload."),
        ({}, 412, f"The driver is not supported, support value: {','.join(DRIVERS)}"),
        (
            {"managedLedgerOffloadDriver": "aliyun-oss"},
            412,
            f"The driver is not supported, support value: {','.join(DRIVERS)}",
        ),
        (
            {"managedLedgerOffloadDriver": "aws-s3"},
            412,
            "The bucket must be specified for namespace offload.",
        ),
        ({**FOLDER, "managedLedgerOffloadMaxThreads": "two"}, 400, None),
    ],
)
async def test_what_cannot_be_is_refused(world, sent, status, reason):
    answer = await world.ask("POST", f"{NAMESPACE}/offloadPolicies", sent)
    assert answer.status == status
    assert reason in (answer.reason, None)


@pytest.mark.parametrize(
    ("path", "unset", "status", "field"),
    [
        ("offloadThreshold", -1, 204, "managedLedgerOffloadThresholdInBytes"),
        ("offloadThresholdInSeconds", -1, 200, "managedLedgerOffloadThresholdInSeconds"),
        ("offloadDeletionLagMs", None, 204, "managedLedgerOffloadDeletionLagInMillis"),
    ],
)
async def test_older_policies_are_a_part_of_the_object(world, path, unset, status, field):
    path = f"{NAMESPACE}/{path}"
    shown = await world.ask("GET", path)
    assert (shown.json if shown.text else None) == unset
    for value in (7, -1):
        assert (await world.ask("PUT", path, value)).status == status
        assert (await world.ask("GET", path)).json == value
        assert (await world.ask("GET", f"{NAMESPACE}/offloadPolicies")).json[field] == value
    if unset is None:
        assert (await world.ask("DELETE", path)).status == 204
        assert (await world.ask("GET", path)).text == ""


NONE_LEFT = {
    "lastError": "",
    "firstUnoffloadedMessage": {
        "ledgerId": -1,
        "entryId": -1,
        "partitionIndex": -1,
        "batchIndex": -1,
        "batchSize": 0,
    },
}


async def test_ledgers_are_offloaded_by_hand(world):
    await world.publish(NAME, 1)
    topic = await world.topic(NAME)
    topic.ledger._context.offloader = MemoryOffloader()
    path = f"{ALL}/x/offload"
    assert (await world.ask("GET", path)).json == {
        "status": "NOT_RUN",
        "lastError": "",
        **NONE_LEFT,
    }
    refused = await world.ask("PUT", path, {"ledgerId": 99, "entryId": 0})
    assert refused.status == 412
    assert "managedLedgerOffloadDriver" in refused.reason
    await world.ask("POST", f"{NAMESPACE}/offloadPolicies", FOLDER)
    await until(lambda: topic.policies.offload is not None)
    first = topic.last_position.ledger_id
    await topic.ledger._writer.end_ledger()
    topic.ledger._context.offloader.written.close()
    assert (await world.ask("PUT", path, {"ledgerId": 99, "entryId": 0})).status == 204
    again = await world.ask("PUT", path, {"ledgerId": 99, "entryId": 0})
    assert (again.status, again.reason) == (409, "Offload already in progress")
    assert (await world.ask("GET", path)).json == {
        "status": "RUNNING",
        "lastError": "",
        **NONE_LEFT,
    }
    topic.ledger._context.offloader.written.open()
    await until(lambda: not topic.offload.running)
    status = (await world.ask("GET", path)).json
    assert (status["status"], status["lastError"]) == ("SUCCESS", "")
    assert status["firstUnoffloadedMessage"].keys() == NONE_LEFT["firstUnoffloadedMessage"].keys()
    stats = (await world.ask("GET", f"{ALL}/x/stats")).json
    assert (stats["lastOffloadLedgerId"], stats["offloadedStorageSize"] > 0) == (first, True)
    assert stats["lastOffloadSuccessTimeStamp"] > 0 == stats["lastOffloadFailureTimeStamp"]
    ledger = (await world.ask("GET", f"{ALL}/x/internalStats")).json["ledgers"][0]
    assert (ledger["ledgerId"], ledger["offloaded"]) == (first, True)
    assert ledger["copy"] == {
        "url": "file:///srv",
        "name": ledger["copy"]["name"],
        "rows": "1",
        "missing": "0",
        "options": {},
        "only": False,
    }
