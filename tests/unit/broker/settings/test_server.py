from magnetar.broker.settings.server import own_port


def test_the_ports_of_processes_are_apart_from_each_other_with_tls_and_without():
    shared = (6650, 6651, 8080, 8443)
    found = [own_port(port, number) for port in shared for number in range(64)]
    assert len({*found, *shared}) == len(found) + len(shared)
