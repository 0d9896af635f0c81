import asyncio
from itertools import product

import pytest
from support.clock import ManualClock
from support.loop import until, until_idle
from unit.broker.cluster.conftest import Owner

from magnetar.broker.cluster import ownership as ownership_module
from magnetar.broker.cluster.ownership import TRANSITIONS, Event, State
from magnetar.errors import MetadataLost, NotOwner, NotReady, StorageError
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.bundles import RING_END, Bundle
from magnetar.model.names import NamespaceName, TopicName
from magnetar.storage.metadata import paths

BUNDLE = Bundle(NamespaceName("public", "default"), 0x8000_0000, 0xC000_0000)
TOPIC = TopicName.parse("persistent://public/default/x")


async def nothing(_):
    """Close no topics."""


async def owner_of(broker):
    return (await broker.ownership.acquire(BUNDLE)).service_url


def test_a_bundle_is_served_from_its_lease_to_the_first_step_of_unloading_or_losing_it():
    assert {(state, event) for state, event in TRANSITIONS} == {
        pair for pair in product(State, Event) if pair in TRANSITIONS
    }
    into = {state for state in State if state in TRANSITIONS.values()}
    assert into == set(State)
    assert [key for key, state in TRANSITIONS.items() if state is State.OWNED] == [
        (State.ACQUIRING, Event.TAKEN)
    ]


async def test_a_bundle_that_no_client_looked_up_is_not_served(brokers):
    with pytest.raises(NotOwner) as refused:
        await brokers[0].ownership.check(BUNDLE, TOPIC)
    assert str(refused.value) == (
        "Namespace bundle (public/default/0x80000000_0xc0000000) for topic "
        "(persistent://public/default/x) not served by this instance:localhost:8080. "
        "Please redo the lookup."
    )


async def test_a_bundle_whose_lease_a_process_of_before_left_is_served_without_a_lookup(brokers):
    here, there = brokers
    lease = here.member.codec.encode_owner(here.ownership.own)
    await there.metadata.put(paths.bundle_owner(BUNDLE), lease, ephemeral=True)
    await here.ownership.check(BUNDLE, TOPIC)
    assert here.ownership.owns(BUNDLE)


async def test_a_bundle_that_is_being_unloaded_is_not_taken_again_for_who_asks_meanwhile(brokers):
    here, _ = brokers
    await owner_of(here)

    async def close(_):
        with pytest.raises(NotOwner):
            await here.ownership.check(BUNDLE, TOPIC)

    await here.ownership.unload(BUNDLE, close)
    assert not here.ownership.owns(BUNDLE)


async def test_a_bundle_that_was_split_is_not_served_by_who_had_not_heard(brokers):
    here, there = brokers
    halves = BUNDLE.split_at([0xA000_0000])
    exist = [BUNDLE]

    async def exists(bundle):
        return bundle in exist

    for each in brokers:
        each.ownership.exist_by(exists)
    await owner_of(here)
    for half in halves:  # Of what is split the parts are acquired first.
        assert await here.ownership.acquire(half) is here.ownership.own
    exist[:] = halves
    await here.ownership.unload(BUNDLE, nothing)
    with pytest.raises(NotOwner, match="was split"):
        await there.ownership.acquire(BUNDLE)
    assert there.ownership.states() == {}
    assert await there.metadata.get(paths.bundle_owner(BUNDLE)) is None
    assert here.ownership.bundles == halves


async def test_a_bundle_of_which_is_not_known_whether_it_was_split_is_given_back(brokers):
    here, there = brokers

    async def no_answer(_):
        raise MetadataLost("the metadata store does not answer")

    here.ownership.exist_by(no_answer)
    with pytest.raises(MetadataLost):
        await here.ownership.acquire(BUNDLE)
    assert await owner_of(there) == there.address.service_url


async def test_of_two_brokers_who_are_asked_at_once_one_has_it_and_both_know(brokers):
    here, there = brokers
    found = await asyncio.gather(*(owner_of(each) for each in (here, there, here, there)))
    assert len(set(found)) == 1
    assert here.ownership.owns(BUNDLE) is not there.ownership.owns(BUNDLE)


async def test_an_unloaded_bundle_is_free_only_when_its_topics_are_closed(brokers):
    here, there = brokers
    await owner_of(here)
    closed = asyncio.Event()

    async def close(bundle):
        assert not here.ownership.owns(bundle)
        await closed.wait()

    unloading = asyncio.ensure_future(here.ownership.unload(BUNDLE, close))
    await until_idle()
    again = asyncio.ensure_future(here.ownership.unload(BUNDLE, nothing))
    looked_up = asyncio.ensure_future(owner_of(here))
    await until_idle()
    assert await owner_of(there) == here.address.service_url
    assert [each.done() for each in (unloading, again, looked_up)] == [False] * 3
    closed.set()
    await asyncio.gather(unloading, again)
    assert await looked_up == await owner_of(there)


async def test_a_bundle_is_handed_to_the_broker_that_is_named_whoever_is_asked_first(brokers):
    here, there = brokers
    await owner_of(here)
    closed = asyncio.Event()
    unloading = asyncio.ensure_future(
        here.ownership.unload(BUNDLE, lambda _: closed.wait(), there.address)
    )
    await until_idle()
    early = asyncio.ensure_future(there.ownership.check(BUNDLE, TOPIC))  # A client was told.
    await until_idle()
    assert not early.done()
    closed.set()
    await unloading
    assert await owner_of(here) == there.address.service_url
    await early
    assert there.ownership.bundles == [BUNDLE]
    assert await here.metadata.get(paths.transfer(BUNDLE)) is None


async def test_a_broker_that_does_not_come_for_its_bundle_loses_its_turn(brokers, monkeypatch):
    monkeypatch.setattr(ownership_module, "TRANSFER_S_MAX", 0.2)
    here, there = brokers
    await owner_of(here)
    await here.ownership.unload(BUNDLE, nothing, there.address)
    changed = asyncio.Event()
    here.metadata.watch(paths.transfer(BUNDLE), lambda _: changed.set())
    assert await owner_of(here) == there.address.service_url
    await asyncio.wait_for(changed.wait(), 10)
    assert await owner_of(here) == here.address.service_url


async def test_a_store_that_is_silent_while_a_bundle_is_handed_over_is_named(brokers, monkeypatch):
    monkeypatch.setattr(ownership_module, "TRANSFER_S_MAX", 0.05)
    here, there = brokers
    await owner_of(here)
    await here.ownership.unload(BUNDLE, nothing, there.address)
    there.metadata.put = lambda *_, **__: asyncio.Event().wait()
    with pytest.raises(MetadataLost, match="has not said in"):
        await owner_of(there)


async def test_a_lost_session_gives_up_everything_before_another_broker_has_it(brokers):
    here, there = brokers
    await owner_of(here)
    seen, finished = [], asyncio.Event()

    def give_up(bundle):
        seen.append((bundle, here.metadata._tree.owners[paths.bundle_owner(bundle)]))
        return finished.wait()

    here.ownership.when_lost(give_up)
    here.metadata.expire()
    assert seen == [(BUNDLE, here.metadata)]  # Its record was still there.
    assert not here.ownership.owns(BUNDLE)
    assert await owner_of(there) == there.address.service_url
    asked = asyncio.ensure_future(owner_of(here))
    await until_idle()
    assert not asked.done()
    finished.set()
    assert await asked == there.address.service_url


async def test_a_bundle_lost_while_it_is_unloaded_is_free_in_the_end(brokers):
    here, there = brokers
    await owner_of(here)
    closed = asyncio.Event()
    unloading = asyncio.ensure_future(here.ownership.unload(BUNDLE, lambda _: closed.wait()))
    await until_idle()
    here.metadata.expire()
    await owner_of(there)
    closed.set()
    await unloading
    assert await owner_of(here) == there.address.service_url


@pytest.mark.parametrize("given_up", [True, False])
async def test_a_bundle_lost_while_it_is_unloaded_is_not_free_before_that_ends(brokers, given_up):
    here, _ = brokers
    await owner_of(here)
    states = []

    async def close(bundle):
        try:
            await asyncio.Event().wait()
        finally:  # The broker stops, and whoever waits for this ends first.
            await until_idle()
            states.append(here.ownership.states().get(bundle))

    async def give_up(_):
        if not given_up:
            await asyncio.Event().wait()

    here.ownership.when_lost(give_up)
    unloading = asyncio.ensure_future(here.ownership.unload(BUNDLE, close))
    await until_idle()
    await here.metadata.delete(paths.bundle_owner(BUNDLE))
    await until_idle()
    await here.tasks.close()
    with pytest.raises(asyncio.CancelledError):
        await unloading
    assert states == [State.LOST]


async def test_a_bundle_lost_just_before_it_is_unloaded_is_given_up_once(brokers):
    here, there = brokers
    await owner_of(here)
    unloading = asyncio.ensure_future(here.ownership.unload(BUNDLE, nothing))
    await asyncio.sleep(0)  # It is asked for, and has not begun.
    here.metadata.expire()
    await unloading
    assert await owner_of(there) == there.address.service_url
    assert await owner_of(here) == there.address.service_url


async def test_a_lease_that_is_deleted_by_hand_is_lost(brokers):
    here, there = brokers
    await owner_of(here)
    await there.metadata.delete(paths.bundle_owner(BUNDLE))
    await until(lambda: not here.ownership.owns(BUNDLE))
    assert await owner_of(there) == there.address.service_url


async def test_a_store_that_does_not_answer_refuses_and_can_be_asked_again(brokers):
    here, _ = brokers
    works, here.metadata.put = here.metadata.put, None
    with pytest.raises(TypeError):
        await owner_of(here)
    here.metadata.put = works
    assert await owner_of(here) == here.address.service_url


async def test_a_note_that_cannot_be_deleted_when_its_time_is_over_is_deleted_later(
    brokers, monkeypatch
):
    monkeypatch.setattr(ownership_module, "TRANSFER_S_MAX", 0.05)
    here, there = brokers
    delete, refused = here.metadata.delete, []

    async def refuse_once(path, **expected):
        if path == paths.transfer(BUNDLE) and not refused:
            refused.append(path)
            raise MetadataLost("it does not answer")
        await delete(path, **expected)

    monkeypatch.setattr(here.metadata, "delete", refuse_once)
    await owner_of(here)
    await here.ownership.unload(BUNDLE, nothing, there.address)
    assert await there.ownership.handed_to(BUNDLE) == there.address
    changed = asyncio.Event()
    watch = here.metadata.watch(paths.transfer(BUNDLE), lambda _: changed.set())
    await asyncio.wait_for(changed.wait(), 5)
    watch.cancel()
    assert refused
    assert await there.ownership.handed_to(BUNDLE) is None


@pytest.fixture
async def timed(tree):
    """Two brokers whose time a test moves on."""
    clock = ManualClock()
    brokers = [Owner(tree, number, clock) for number in range(2)]
    yield clock, *brokers
    for broker in brokers:
        await broker.close()


@pytest.mark.parametrize("first", ["here", "there"])
async def test_a_note_has_its_own_time_whoever_left_another_one_before(timed, first):
    clock, here, there = timed
    if first == "there":
        here, there = there, here
    await owner_of(here)
    await here.ownership.unload(BUNDLE, nothing, there.address)
    await owner_of(there)
    await there.ownership.unload(BUNDLE, nothing, here.address)
    await owner_of(here)
    await until_idle()
    await clock.advance(6)
    closed = asyncio.Event()
    unloading = asyncio.ensure_future(
        here.ownership.unload(BUNDLE, lambda _: closed.wait(), there.address)
    )
    await until_idle()
    await clock.advance(5)  # The time of both notes of before is over.
    assert await there.ownership.handed_to(BUNDLE) == there.address
    closed.set()
    await unloading
    await clock.advance(6)
    await until_idle()
    assert await there.ownership.handed_to(BUNDLE) is None


async def test_a_note_whose_answer_was_lost_ends_with_its_time(brokers, monkeypatch):
    monkeypatch.setattr(ownership_module, "TRANSFER_S_MAX", 0.05)
    here, there = brokers
    await owner_of(here)
    put, changes = here.metadata.put, asyncio.Queue()
    watch = here.metadata.watch(paths.transfer(BUNDLE), changes.put_nowait)

    async def lose(*arguments, **named):
        await put(*arguments, **named)
        raise MetadataLost("it does not answer")

    here.metadata.put = lose
    await here.ownership.unload(BUNDLE, nothing, there.address)
    for _ in ("written", "deleted"):
        await asyncio.wait_for(changes.get(), 5)
    watch.cancel()
    assert await there.metadata.get(paths.transfer(BUNDLE)) is None


async def test_a_note_that_cannot_be_written_keeps_no_bundle_from_being_unloaded(brokers):
    here, there = brokers
    await owner_of(here)
    closed = []

    async def refuse(*_, **__):
        raise StorageError("nobody answers")

    async def close(bundle):
        closed.append(bundle)

    here.metadata.put = refuse
    await here.ownership.unload(BUNDLE, close, there.address)
    assert closed == [BUNDLE]
    assert await owner_of(there) == there.address.service_url


async def test_a_session_lost_before_a_bundle_is_acquired_gives_up_the_others(brokers):
    here, there = brokers
    other = Bundle(BUNDLE.namespace, BUNDLE.high, RING_END)
    await here.ownership.acquire(other)
    taken, lost = asyncio.Event(), asyncio.Event()
    take = here.ownership._leases.take

    async def take_slowly(path, **how):
        holder = await take(path, **how)
        taken.set()
        await lost.wait()
        return holder

    here.ownership._leases.take = take_slowly
    asked = asyncio.ensure_future(owner_of(here))
    await taken.wait()
    here.metadata.expire()
    assert not here.ownership.owns(other)
    assert await owner_of(there) == there.address.service_url
    lost.set()
    assert await asked == there.address.service_url


async def test_a_lease_whose_answer_was_lost_is_had_by_who_asks_for_its_topics(brokers):
    here, _ = brokers
    put = here.metadata.put

    async def lose(*arguments, **named):
        await put(*arguments, **named)
        raise StorageError("nobody answers")

    here.metadata.put = lose
    with pytest.raises(StorageError):
        await owner_of(here)
    here.metadata.put = put
    await here.ownership.check(BUNDLE, TOPIC)
    assert here.ownership.owns(BUNDLE)


async def test_bundles_are_listed_in_order(brokers):
    here, _ = brokers
    names = [NamespaceName("a", "b"), NamespaceName("a", "a")]
    for name in names:
        await here.ownership.acquire(Bundle(name, 0, RING_END))
    assert [str(each.namespace) for each in here.ownership.bundles] == ["a/a", "a/b"]


async def test_who_leaves_sends_those_who_ask_for_a_free_bundle_to_others(brokers):
    leaving, other = brokers
    leaving.ownership.leave_to([other.address])
    assert await leaving.ownership.acquire(BUNDLE) == other.address
    assert leaving.ownership.bundles == []
    await other.ownership.check(BUNDLE, TOPIC)  # It was told, and takes it.
    assert other.ownership.bundles == [BUNDLE]


async def test_a_note_that_comes_too_late_for_a_bundle_ends_and_holds_up_nobody(brokers):
    here, there = brokers
    note = paths.transfer(BUNDLE)
    await owner_of(here)
    await here.metadata.put(note, there.member.codec.encode_owner(there.address))
    waits = asyncio.ensure_future(there.ownership.check(BUNDLE, TOPIC))
    await until_idle()
    assert not waits.done()
    await here.metadata.delete(note)
    with pytest.raises(NotOwner):
        await asyncio.wait_for(waits, 5)


async def test_who_takes_a_free_bundle_ends_a_note_that_names_another(brokers):
    here, there = brokers
    note = paths.transfer(BUNDLE)
    read, put_meanwhile = here.metadata.get, asyncio.Event()

    async def get(path):
        record = await read(path)
        if path == note and not put_meanwhile.is_set():
            put_meanwhile.set()
            await there.metadata.put(note, there.member.codec.encode_owner(there.address))
        return record

    here.metadata.get = get
    assert await owner_of(here) == here.address.service_url
    await until_idle()
    assert await read(note) is None


async def test_who_places_a_bundle_that_another_took_meanwhile_takes_the_note_back(brokers):
    here, there = brokers

    async def place(_bundle):
        assert await owner_of(there) == there.address.service_url
        return BrokerAddress.of("third", 6650, 8080)

    here.ownership.place_by(place)
    assert await owner_of(here) == there.address.service_url
    assert await here.metadata.get(paths.transfer(BUNDLE)) is None


async def test_a_bundle_that_is_handed_to_a_broker_that_died_is_taken_by_who_is_asked(brokers):
    here, there = brokers
    note = paths.transfer(BUNDLE)
    await there.metadata.put(note, there.member.codec.encode_owner(there.address))
    assert await owner_of(here) == there.address.service_url
    here.member.gone.add(there.address)
    assert await owner_of(here) == here.address.service_url


async def test_the_successor_of_a_bundle_is_chosen_for_who_has_it(brokers):
    here, there = brokers
    asked = []

    async def place(bundle, *, leaves=False):
        asked.append((bundle, leaves))
        if len(asked) > 1:
            raise NotReady("none may have it")
        return there.address

    assert await here.ownership.successor(BUNDLE) is None
    await owner_of(here)
    assert await here.ownership.successor(BUNDLE) is None, "no load is shared"
    here.ownership.place_by(place)
    assert await here.ownership.successor(BUNDLE) == there.address
    assert await here.ownership.successor(BUNDLE) is None
    assert asked == [(BUNDLE, True)] * 2
