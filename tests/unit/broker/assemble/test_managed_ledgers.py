from support.loop import until_idle
from unit.broker.peer import Peer, send

from magnetar.broker.assemble.stores import Stores
from magnetar.broker.resources import DEFAULT_NAMESPACES, Resources
from magnetar.model.policy_values import PersistencePolicies
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree
from magnetar.testing.local_broker import LocalBroker

QUIET = {"webServicePort": -1}


async def test_the_settings_of_ledgers_reach_them():
    changed = {
        "managedLedgerMaxEntriesPerLedger": 7,
        "managedLedgerMinLedgerRolloverTimeMinutes": 0,
        **QUIET,
    }
    async with LocalBroker(settings=changed) as local:
        peer = await Peer.open(local.port)
        await peer.produce(1)
        ledgers = set()
        for number in range(30):
            peer.wire.send(send(1, number, b"x"))
            ledgers.add((await peer.hear()).send_receipt.message_id.ledgerId)
        assert len(ledgers) > 2
        peer.wire.close()


async def test_how_many_copies_a_namespace_asks_for_reaches_the_ledger_store():
    tree, ledgers = MemoryTree(), MemoryLedgerStore()
    quiet = QUIET | {
        "managedLedgerMaxEntriesPerLedger": 1,
        "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    }
    created = []
    async with LocalBroker(
        settings=quiet, stores=Stores(MemoryMetadataStore(tree), ledgers)
    ) as local:
        resources = Resources(MemoryMetadataStore(tree), codec=JsonCodec())
        peer = await Peer.open(local.port)
        for numbers in ((3, 2, 2), (2, 2, 1)):
            copies = PersistencePolicies(*numbers)
            change = {"persistence": copies}
            await resources.change_policies(DEFAULT_NAMESPACES[0], lambda _, to=change: to)
            await until_idle()
            if not created:
                await peer.produce(1)
            for number in range(2):
                peer.wire.send(send(1, 10 * len(created) + number, b"x"))
                receipt = (await peer.hear()).send_receipt
            created.append((await ledgers.open(receipt.message_id.ledgerId)).options)
        peer.wire.close()
        resources.close()
    assert [(o.ensemble_size, o.write_quorum, o.ack_quorum) for o in created] == [
        (3, 2, 2),
        (2, 2, 1),
    ]
