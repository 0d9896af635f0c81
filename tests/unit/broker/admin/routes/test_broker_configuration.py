"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

ALL = "/admin/v2/brokers/configuration"


async def test_a_change_has_an_effect_or_the_answer_says_that_it_has_none(world):
    effective = await world.ask(
        "POST", f"{ALL}/backlogQuotaDefaultRetentionPolicy/producer_exception"
    )
    assert (effective.status, effective.headers.get("X-Magnetar-Without-Effect")) == (200, None)
    idle = await world.ask("POST", f"{ALL}/loadManagerClassName/a%2Fb")
    assert (idle.status, idle.headers["X-Magnetar-Without-Effect"]) == (200, "loadManagerClassName")
    assert (await world.ask("GET", f"{ALL}/values")).json == {
        "backlogQuotaDefaultRetentionPolicy": "producer_exception",
        "loadManagerClassName": "a/b",
    }


async def test_what_can_be_changed_is_listed(world):
    names = (await world.ask("GET", ALL)).json
    assert {"maxProducersPerTopic", "forceDeleteNamespaceAllowed"} <= set(names)
    assert not {"webServicePort", "superUserRoles", "dispatchThrottlingRateInMsg"} & set(names)
    assert (await world.ask("POST", f"{ALL}/maxProducersPerTopic/x")).status == 412
