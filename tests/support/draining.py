"""Receiving what is there, with our client."""


async def drained(source, count, *, acknowledge=None):
    """The next ``count`` messages of a consumer or a reader."""
    found = []
    while len(found) < count:
        messages = await source.receive_many(count - len(found), 20)
        assert messages, f"{len(found)} of {count} messages came"
        if acknowledge is not None:
            acknowledge(messages)
        found += messages
    return found


def data(messages):
    return [message.data for message in messages]
