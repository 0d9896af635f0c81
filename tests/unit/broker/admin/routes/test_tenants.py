ONE = "/admin/v2/tenants/t"
INFO = {"adminRoles": ["boss"], "allowedClusters": ["standalone"]}


async def test_a_tenant_comes_is_changed_and_goes(world):
    assert (await world.ask("PUT", ONE, INFO)).status == 204
    assert (await world.ask("GET", ONE)).json == INFO
    changed = {"adminRoles": [], "allowedClusters": ["standalone"]}
    assert (await world.ask("POST", ONE, changed)).status == 204
    assert (await world.ask("GET", ONE)).json == changed
    assert (await world.ask("DELETE", ONE)).status == 204
    assert (await world.ask("GET", ONE)).status == 404
    assert (await world.ask("GET", "/admin/v2/tenants")).json == ["public", "pulsar"]


async def test_forced_deletion_is_refused_before_anything_else(world):
    for name in ("public", "nobody"):
        answer = await world.ask("DELETE", f"/admin/v2/tenants/{name}?force=true")
        assert answer.status == 405
        assert answer.reason == (
            "Broker doesn't allow forced deletion of tenants: its forceDeleteTenantAllowed is false"
        )
    assert (await world.ask("GET", "/admin/v2/tenants/public")).status == 200


async def test_a_refused_update_changes_nothing(world):
    await world.ask("PUT", ONE, INFO)
    answer = await world.ask("POST", ONE, {"allowedClusters": ["nowhere"]})
    assert answer.reason == "Clusters do not exist"
    assert (await world.ask("GET", ONE)).json == INFO


async def test_a_tenant_is_deleted_by_force_with_its_namespaces(world):
    one = "/admin/v2/tenants/t"
    await world.ask("PUT", one, {"adminRoles": [], "allowedClusters": ["standalone"]})
    await world.ask("PUT", "/admin/v2/namespaces/t/n")
    await world.publish("persistent://t/n/a", 1)
    assert (await world.ask("DELETE", f"{one}?force=true")).status == 405
    path = "/admin/v2/brokers/configuration/forceDeleteTenantAllowed/true"
    assert (await world.ask("POST", path)).status == 200
    assert (await world.ask("DELETE", f"{one}?force=true")).status == 204
    assert (await world.ask("GET", one)).status == 404
    assert not world.registry.loaded
