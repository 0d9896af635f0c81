import pytest

from magnetar.broker.cluster.ownership import Ownership
from magnetar.errors import NotOwner
from magnetar.model.names import TopicName


@pytest.fixture
def ownership(resources):
    return Ownership(resources, address="localhost:8080")


async def test_a_bundle_nobody_looked_up_is_not_served(ownership):
    topic = TopicName.parse("persistent://public/default/x")
    with pytest.raises(NotOwner) as refused:
        await ownership.check(topic)
    assert str(refused.value) == (
        "Namespace bundle (public/default/0x80000000_0xc0000000) for topic "
        "(persistent://public/default/x) not served by this instance:localhost:8080. "
        "Please redo the lookup."
    )


async def test_a_namespace_that_does_not_exist_is_one_bundle_nobody_serves(ownership):
    topic = TopicName.parse("persistent://nosuch/default/x")
    with pytest.raises(NotOwner) as refused:
        await ownership.check(topic)
    assert str(refused.value) == (
        "Namespace bundle (nosuch/default/0x00000000_0xffffffff) for topic "
        "(persistent://nosuch/default/x) not served by this instance:localhost:8080. "
        "Please redo the lookup."
    )


async def test_a_bundle_that_was_taken_is_served_for_all_its_topics(ownership):
    names = [TopicName.parse(f"t-{index}") for index in range(40)]
    taken = names[0]
    await ownership.take(taken)
    await ownership.check(taken)
    served = []
    for name in names:
        try:
            await ownership.check(name)
        except NotOwner:
            continue
        served.append(name)
    assert 1 < len(served) < len(names)
