import pytest
from unit.broker.admin.world import open_world


@pytest.fixture
async def world():
    async with open_world() as opened:
        yield opened
