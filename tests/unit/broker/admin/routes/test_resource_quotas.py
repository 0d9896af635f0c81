"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

import pytest

ALL = "/admin/v2/resource-quotas"


async def test_a_quota_has_no_effect_and_the_answer_says_so(world):
    for path in (ALL, f"{ALL}/public/default/0x00000000_0x40000000"):
        kept = await world.ask("POST", path, {"memory": 5})
        assert kept.headers["X-Magnetar-Without-Effect"] == "resource-quotas"
        assert (await world.ask("GET", path)).json["memory"] == 5.0


@pytest.mark.parametrize(
    "sent",
    [b"[]", b'{"memory": "5%"}', b'{"memory": true}', b'{"memory": NaN}', b'{"dynamic": 1.5}'],
)
async def test_what_is_no_quota_is_refused(world, sent):
    assert (await world.ask("POST", ALL, sent)).status == 400
