from dataclasses import fields

from magnetar.broker.admin.routes.table import ROUTES, routes_with


async def test_a_broker_is_called_by_the_host_and_port_of_its_admin_api(world):
    assert world.admin.broker.named["broker"] == "localhost:8080"


async def test_every_handler_is_given_the_services_of_its_family(world):
    families = [getattr(world.admin, each.name) for each in fields(world.admin)]
    routes = routes_with(world.admin)
    assert [route.path for route in routes] == [route.path for route in ROUTES]
    given = {type(route.handler.args[-1]) for route in routes}
    assert given == set(map(type, families))
