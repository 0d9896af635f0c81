"""Who may use a transaction, and for what: each role does what it could do without one."""

import aiohttp
import pytest
from support.tokens import TAKES_TOKENS, token
from unit.broker.peer import Peer

from magnetar.model.system_topics import COORDINATORS
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

SETTINGS = {
    **TAKES_TOKENS,
    "authorizationEnabled": "true",
    "superUserRoles": "root",
    "transactionCoordinatorEnabled": True,
}
ORDERS = "persistent://public/default/orders"


@pytest.fixture
async def broker():
    async with LocalBroker(settings=SETTINGS) as local:
        shown = {"Authorization": f"Bearer {token('root')}"}
        async with aiohttp.ClientSession(local.web_url, headers=shown) as http:
            for role, actions in {"writer": ["produce"], "reader": ["consume"]}.items():
                path = f"/admin/v2/namespaces/public/default/permissions/{role}"
                async with http.post(path, json=actions) as answer:
                    assert answer.status == 204
        yield local


class Roles:
    """A connection of each role, attached to the coordinator."""

    def __init__(self, port):
        self._port = port
        self._peers = {}

    async def ask(self, role, field, **values):
        if role not in self._peers:
            peer = self._peers[role] = await Peer.open(self._port, protocol_version=None)
            shown = {"auth_method_name": "token", "auth_data": token(role).encode()}
            await peer.ask("connect", client_version="t", protocol_version=21, **shown)
            found = await peer.ask(
                "lookupTopic", topic=str(COORDINATORS.partition(0)), request_id=1
            )
            assert found.lookupTopicResponse.response == pb.CommandLookupTopicResponse.Connect
            await peer.ask("tcClientConnectRequest", request_id=1, tc_id=0)
        answer = await self._peers[role].ask(field, request_id=1, **values)
        return getattr(answer, f"{field}Response")

    async def begin(self, role):
        said = await self.ask(role, "newTxn", tc_id=0, txn_ttl_millis=60_000)
        return {"txnid_most_bits": 0, "txnid_least_bits": said.txnid_least_bits}

    def leave(self, role):
        self._peers.pop(role).wire.close()

    def close(self):
        for peer in self._peers.values():
            peer.wire.close()


@pytest.fixture
async def roles(broker):
    made = Roles(broker.port)
    yield made
    made.close()


async def test_a_role_publishes_and_acknowledges_in_transactions_where_it_may(roles):
    subscription = [pb.Subscription(topic=ORDERS, subscription="s")]
    for role, produces, consumes in (
        ("root", True, True),
        ("writer", True, False),
        ("reader", False, True),
        ("nobody", False, False),
    ):
        ids = await roles.begin(role)
        said = await roles.ask(role, "addPartitionToTxn", partitions=[ORDERS], **ids)
        assert said.HasField("error") is not produces, role
        assert said.error == (0 if produces else pb.AuthorizationError)
        said = await roles.ask(role, "addSubscriptionToTxn", subscription=subscription, **ids)
        assert said.HasField("error") is not consumes, role
        said = await roles.ask(role, "endTxn", txn_action=pb.COMMIT, **ids)
        assert not said.HasField("error"), role


async def test_of_several_topics_none_takes_part_where_one_may_not(roles):
    ids = await roles.begin("writer")
    secret = "persistent://pulsar/system/secret"
    said = await roles.ask("writer", "addPartitionToTxn", partitions=[ORDERS, secret], **ids)
    assert said.error == pb.AuthorizationError


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("addPartitionToTxn", {"partitions": [ORDERS]}),
        ("addSubscriptionToTxn", {"subscription": [pb.Subscription(topic="t", subscription="s")]}),
        ("endTxn", {"txn_action": pb.COMMIT}),
        ("endTxn", {"txn_action": pb.ABORT}),
    ],
)
async def test_a_transaction_is_its_roles_and_a_superusers(roles, field, values):
    ids = await roles.begin("writer")
    said = await roles.ask("other", field, **values, **ids)
    assert said.error == pb.TransactionNotFound
    assert said.message.endswith("nor a super user")
    said = await roles.ask("root", field, **values, **ids)
    assert not said.HasField("error"), said


async def test_who_was_not_told_of_an_end_asks_again_and_nobody_else(roles):
    ids = await roles.begin("writer")
    said = await roles.ask("writer", "endTxn", txn_action=pb.COMMIT, **ids)
    assert not said.HasField("error"), said
    roles.leave("writer")
    said = await roles.ask("writer", "endTxn", txn_action=pb.COMMIT, **ids)
    assert not said.HasField("error"), said
    said = await roles.ask("other", "endTxn", txn_action=pb.COMMIT, **ids)
    assert said.error == pb.TransactionNotFound
