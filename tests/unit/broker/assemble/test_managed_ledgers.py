from unit.broker.peer import Peer, send

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
