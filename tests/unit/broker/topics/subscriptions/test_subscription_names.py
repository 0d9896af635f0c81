import pytest

from magnetar.broker.topics.subscriptions.subscription_names import (
    RESERVED_SUBSCRIPTIONS,
    check_subscription_name,
)
from magnetar.errors import ProducerBusy


@pytest.mark.parametrize("name", ["", "a\x00b", *RESERVED_SUBSCRIPTIONS])
def test_names_that_no_subscription_may_have(name):
    with pytest.raises(ProducerBusy, match="ubscription name"):
        check_subscription_name(name)


def test_any_other_name_is_fine():
    check_subscription_name("orders")
