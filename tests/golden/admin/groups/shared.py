"""What several groups do before an exchange."""

from magnetar import InitialPosition, SubscriptionType

TOPICS = "persistent://golden/topics"
NOT_OURS = "a mistake of the caller's is not a failure of ours"
NO_ALIYUN = "Aliyun is not among the places that ledgers are offloaded to"
NO_SYSTEM_TOPICS = "there are no system topics"


def making(*requests):
    """A preparation that is nothing but requests of an administrator."""

    async def make(world):
        await world.make(*requests)

    return make


async def listen(world, topic, subscription, **options):
    """A consumer that takes nothing, kept under the name of its topic."""
    options = {"type": SubscriptionType.SHARED, **options}
    world.kept[topic] = await world.client.subscribe(
        topic, subscription, initial_position=InitialPosition.EARLIEST, **options
    )


async def leave(world, *topics):
    """Close what was kept under the names of these topics."""
    for topic in topics:
        await world.kept.pop(topic).close()
