import pytest


@pytest.mark.parametrize("path", ["coordinators", "transactionMetadata/0/1", "slowTransactions/5"])
async def test_there_are_no_transactions(world, path):
    answer = await world.ask("GET", f"/admin/v3/transactions/{path}")
    assert answer.status == 503
    assert answer.reason == (
        "This Broker is not configured with transactionCoordinatorEnabled=true."
    )
