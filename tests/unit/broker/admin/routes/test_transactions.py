"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

import pytest

ALL = "/admin/v3/transactions"
OFF = (
    "This Broker is not configured with transactionCoordinatorEnabled=true."
    " Magnetar has no transactions yet, and does not start with it."
)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "coordinators", None),
        ("GET", "coordinatorStats", None),
        ("GET", "transactionBufferStats/public/default/t", None),
        ("POST", "abortTransaction/0/1", None),
        ("POST", "transactionCoordinator/replicas", 2),
    ],
)
async def test_there_is_nobody_to_coordinate_transactions(world, method, path, body):
    await world.topic("persistent://public/default/t")
    answer = await world.ask(method, f"{ALL}/{path}", body)
    assert (answer.status, answer.reason) == (503, OFF)


@pytest.mark.parametrize(
    ("method", "path", "words"),
    [
        ("GET", "transactionMetadata/0/1", "`(0,1)`not found: This Broker"),
        ("GET", "coordinatorStats?coordinatorId=0", "coordinator id : 0: This Broker"),
        ("GET", "coordinatorInternalStats/0", "coordinator id : 0: This Broker"),
        ("GET", "pendingAckStats/public/default/t/s", "not found subscription : s"),
    ],
)
async def test_what_cannot_be_there_is_not_found(world, method, path, words):
    await world.topic("persistent://public/default/t")
    answer = await world.ask(method, f"{ALL}/{path}")
    assert (answer.status, words in answer.reason) == (404, True)
