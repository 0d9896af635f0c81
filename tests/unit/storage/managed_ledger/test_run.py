from magnetar.message.entry_traits import EntryTraits
from magnetar.storage.managed_ledger.run import EntryRun


def run():
    return EntryRun(4, 10, [b"a", b"b", b"c"], [1, 2, 3], EntryTraits([1, 5, 2]))


def test_a_run_knows_where_it_lies():
    assert len(run()) == 3
    assert run().first == (4, 10)
    assert run().last == (4, 12)


def test_a_part_has_its_own_place_and_traits():
    whole = run()
    part = whole.part(1, 3)
    assert (part.first, part.data, part.checksums) == ((4, 11), [b"b", b"c"], [2, 3])
    assert part.traits.message_counts == [5, 2]
    assert EntryRun(4, 10, whole.data, whole.checksums).part(0, 1).traits is None


def test_the_bytes_of_a_run_are_those_of_its_entries():
    assert (run().size_bytes, run().part(0, 2).size_bytes) == (3, 2)


def test_a_part_that_is_everything_is_the_run():
    whole = run()
    assert whole.part(0, 3) is whole
    assert whole.part(-1, 9) is whole
