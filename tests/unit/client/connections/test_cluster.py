from magnetar.client.authentication.token import AuthenticationToken
from magnetar.client.config import ClientConfig
from magnetar.client.connections.backoff import Backoff
from magnetar.client.connections.cluster import Cluster


def cluster(url, chance=0.0, **settings):
    config = ClientConfig(service_url=url, **settings)
    return Cluster(config, lambda: Backoff(lambda: 0.0, first_s=1, max_s=1), lambda: chance)


def test_it_is_made_of_the_settings():
    plain = cluster("pulsar://a:1")
    assert (plain.tls, plain.credentials.method, plain.reached) == (None, "none", False)
    sealed = cluster("pulsar+ssl://a:1", authentication=AuthenticationToken("t"))
    assert sealed.tls is not None
    assert sealed.credentials.method == "token"


def test_clients_begin_with_different_addresses():
    begun = {cluster("pulsar://a:1,b:1", chance).addresses.in_turn(0)[0] for chance in (0, 0.6)}
    assert begun == {"a:1", "b:1"}
