from unit.storage.managed_ledger.logs import acknowledge, append, entries

from magnetar.model.position import EARLIEST, Position


async def test_a_log_is_described(logs, ledger):
    cursor = await ledger.open_cursor("s", EARLIEST, properties={"a": "b"})
    ledger.open_reader("r", EARLIEST)
    await append(ledger, entries(10))
    await logs.roll(ledger)
    await append(ledger, entries(5))
    acknowledge(cursor, [Position(0, 0), Position(0, 4), Position(0, 5)])
    info = ledger.info()
    assert info.state == "open"
    assert (info.entries_added, info.entry_count, info.size_bytes) == (15, 15, 15)
    assert (info.open_entry_count, info.open_size_bytes) == (5, 5)
    assert info.open_began_ms == logs.clock.wall_ms()
    assert info.last_position == (1, 4)
    assert [(each.ledger_id, each.last_entry_id, each.size_bytes) for each in info.ledgers] == [
        (0, 9, 10),
        (1, 4, 5),
    ]
    assert info.ledgers[0].sealed_ms
    assert not info.ledgers[1].sealed_ms
    described = info.cursors["s"]
    assert (described.mark, described.read_position, described.backlog) == ((0, 0), (0, 1), 12)
    assert described.ranges == ((0, 4, 5),)
    assert described.properties == {"a": "b"}
    assert described.durable
    assert not info.cursors["r"].durable


async def test_the_state_says_whether_it_can_be_written_to(ledger):
    await append(ledger, entries(1))
    await ledger.close()
    assert ledger.info().state == "closed"
    assert ledger.info().open_entry_count == 0
