"""What nobody gets."""

import pytest

from magnetar.model.subscriptions import SubscriptionType


@pytest.mark.parametrize("kind", SubscriptionType)
async def test_an_entry_that_nobody_can_read_is_acknowledged_whoever_is_served(bench, kind):
    end, subscription, _ = await bench.consumer(kind)
    await bench.publish(b"\0\0\0\x05\xff\xff\xff\xff\xffpayload", "b", counts=[7, 1])
    await end.until(lambda e: e.got() == ["b"])
    assert subscription.cursor.backlog == 1
