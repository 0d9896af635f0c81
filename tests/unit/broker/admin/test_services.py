from dataclasses import fields
from typing import Any

from magnetar.broker.admin.routes.table import ROUTES


async def test_a_broker_is_called_by_the_host_and_port_of_its_admin_api(world):
    assert world.admin.broker.named["broker"] == "localhost:8080"


def test_every_handler_is_given_the_services_of_its_family(world):
    given = {each.name: type(getattr(world.admin, each.name)) for each in fields(world.admin)}
    assert {route.family for route in ROUTES} == set(given)
    for route in ROUTES:
        taken = route.function.__annotations__.values()
        assert given[route.family] in taken or Any in taken, route.path
