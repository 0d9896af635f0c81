"""A deletion is noted before it begins and forgotten when it is done."""

import pytest

from magnetar.broker.topics.log.deletions import Deletions
from magnetar.errors import WriteFailed
from magnetar.model.names import TopicName
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.metadata.memory import MemoryMetadataStore

TOPIC = TopicName.parse("persistent://public/default/a/b c%")


async def test_what_was_begun_is_known_to_the_next_process():
    metadata = MemoryMetadataStore()
    await Deletions(metadata, codec=JsonCodec()).begin(TOPIC)
    later = Deletions(metadata, codec=JsonCodec())
    assert await later.begun() == [TOPIC]
    assert await later.has_begun(TOPIC)
    await later.begin(TOPIC)
    await later.end(TOPIC)
    assert not await later.has_begun(TOPIC)
    assert await later.begun() == []


async def test_what_could_not_be_noted_was_not_begun():
    class Full(MemoryMetadataStore):
        async def put(self, path, value, **options):
            raise WriteFailed(path)

    deletions = Deletions(Full(), codec=JsonCodec())
    with pytest.raises(WriteFailed):
        await deletions.begin(TOPIC)
    assert not await deletions.has_begun(TOPIC)


async def test_what_could_not_be_forgotten_is_still_begun():
    class Stuck(MemoryMetadataStore):
        async def delete(self, path, **options):
            raise WriteFailed(path)

    deletions = Deletions(Stuck(), codec=JsonCodec())
    await deletions.begin(TOPIC)
    with pytest.raises(WriteFailed):
        await deletions.end(TOPIC)
    assert await deletions.has_begun(TOPIC)
