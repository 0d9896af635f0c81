import pytest

from magnetar.client.web_answer import whole
from magnetar.errors import NotReady


class Content:
    def __init__(self, *chunks):
        self.chunks = list(chunks)

    async def readany(self):
        return self.chunks.pop(0) if self.chunks else b""


async def test_all_of_it_is_read():
    assert await whole(Content(b"a", b"bc"), 3) == b"abc"
    assert await whole(Content(), 3) == b""


async def test_but_no_more_than_asked_for():
    with pytest.raises(NotReady, match="more than 3 bytes"):
        await whole(Content(b"ab", b"cd", b"for ever"), 3)
