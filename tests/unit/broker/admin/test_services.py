async def test_a_broker_is_called_by_the_host_and_port_of_its_admin_api(world):
    assert world.services.broker_id == "localhost:8080"
