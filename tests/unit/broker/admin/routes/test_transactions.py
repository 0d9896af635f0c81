"""What Pulsar answers is in tests/golden/admin/coordinator_off.jsonl; here is what it is not asked.

Whatever stands in a path, and whether the topic is there or not: it is 503, as of a live Pulsar
4.0.7 with ``transactionCoordinatorEnabled=false``.
"""

import pytest

from magnetar.broker.admin.routes.transactions import ROUTES


@pytest.mark.parametrize(
    "path",
    [
        "transactionMetadata/a/b",
        "slowTransactions/abc",
        "coordinatorInternalStats/x",
        "transactionBufferStats/public/default/absent",
        "pendingAckStats/public/absent/t/s",
    ],
)
async def test_a_question_about_transactions_is_answered_with_503_and_why(world, path):
    answer = await world.ask("GET", f"/admin/v3/transactions/{path}")
    assert answer.status == 503
    assert answer.reason == (
        "This Broker is not configured with transactionCoordinatorEnabled=true."
        " Magnetar has no transactions yet, and does not start with it."
    )


def test_all_routes_have_the_one_handler():
    assert len({route.handler for route in ROUTES}) == 1
