from magnetar.storage.managed_ledger.run import EntryRun


def run():
    return EntryRun(4, 10, [b"a", b"b", b"c"], [1, 2, 3], [1, 5, 0])


def test_a_run_knows_where_it_lies():
    assert len(run()) == 3
    assert run().first == (4, 10)
    assert run().last == (4, 12)


def test_a_part_has_its_own_place_and_memo():
    whole = run()
    whole.memo["derived"] = 1
    part = whole.part(1, 3)
    assert (part.first, part.data, part.checksums, part.weights) == (
        (4, 11), [b"b", b"c"], [2, 3], [5, 0],
    )  # fmt: skip
    assert part.memo == {}


def test_a_part_that_is_everything_is_the_run():
    whole = run()
    assert whole.part(0, 3) is whole
    assert whole.part(-1, 9) is whole
