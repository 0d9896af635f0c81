import pytest

ALL = "/admin/v2/persistent/public/default"


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        (f"{ALL}/none/retention", 404, "Topic persistent://public/default/none not found"),
        ("/admin/v2/persistent/public/nope/t/retention", 404, "Namespace not found"),
        ("/admin/v2/namespaces/public/nope/retention", 404, "Namespace does not exist"),
        (
            f"{ALL}/p-partition-0/retention",
            412,
            "Not allowed to set/get topic policy for a partition",
        ),
        (
            "/admin/v2/non-persistent/public/default/t/retention",
            404,
            "Topic non-persistent://public/default/t not found",
        ),
    ],
)
async def test_whose_policies_there_are_none_of_is_said(world, path, status, reason):
    body = {"retentionTimeInMinutes": 1, "retentionSizeInMB": 1}
    await world.ask("PUT", f"{ALL}/p/partitions", 2)
    await world.topic("persistent://public/default/t")
    for method in ("GET", "POST", "DELETE"):
        refused = await world.ask(method, path, body)
        assert (refused.status, refused.reason) == (status, reason)


async def test_a_partitioned_topic_has_policies(world):
    await world.ask("PUT", f"{ALL}/p/partitions", 2)
    assert (await world.ask("POST", f"{ALL}/p/maxConsumers", 3)).status == 204
    assert (await world.ask("GET", f"{ALL}/p/maxConsumers")).json == 3
