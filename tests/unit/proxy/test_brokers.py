import asyncio

import pytest
from support.clock import ManualClock

from magnetar.errors import NotReady
from magnetar.model.broker_address import BrokerAddress
from magnetar.proxy.brokers import NAMED_MAX, Brokers, keep_up, running
from magnetar.storage.codec.pulsar_codec import PulsarCodec
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.memory import MemoryMetadataStore

ONE = BrokerAddress("pulsar://one:6650", "http://one:8080", "pulsar+ssl://one:6651")
TWO = BrokerAddress("pulsar://two:6650", "http://two:8080", "pulsar+ssl://two:6651")


def test_brokers_are_asked_in_turn():
    brokers = Brokers(["one:1", "two:1"])
    first = [brokers.to_ask()[0] for _ in range(4)]
    assert first[:2] == first[2:]
    assert sorted(first[:2]) == ["one:1", "two:1"]


def test_without_a_broker_it_is_said_so():
    with pytest.raises(NotReady):
        Brokers().to_ask()


def test_a_broker_is_known_by_its_record_or_because_another_named_it():
    brokers = Brokers()
    brokers.replace([ONE])
    assert brokers.is_broker("one:6650")
    assert brokers.is_web("one:8080")
    assert not brokers.is_web("two:8080")
    assert not brokers.is_broker("two:6650")
    brokers.named("two:6650")
    assert brokers.is_broker("two:6650")
    for number in range(NAMED_MAX):
        brokers.named(f"other:{number}")
    assert not brokers.is_broker("two:6650")


def test_a_host_with_one_broker_that_speaks_tls_is_found_by_its_name():
    brokers = Brokers()
    brokers.replace([ONE, TWO])
    assert brokers.tls_port_of("ONE") == "one:6651"
    assert brokers.tls_port_of("other") is None
    brokers.replace([ONE, BrokerAddress("", "", "pulsar+ssl://one:6661")])
    assert brokers.tls_port_of("one") is None


async def test_brokers_that_come_and_go_are_kept_up_with():
    metadata, codec, brokers = MemoryMetadataStore(), PulsarCodec(), Brokers(tls=True)
    await metadata.put(paths.broker("one:8080"), codec.encode_owner(ONE))
    task = asyncio.ensure_future(keep_up(brokers, metadata, codec, ManualClock()))
    await until(lambda: brokers.binary == ("one:6651",))
    await metadata.put(paths.broker("two:8080"), codec.encode_owner(TWO))
    await until(lambda: len(brokers.binary) == 2)
    await metadata.delete(paths.broker("one:8080"))
    await until(lambda: brokers.binary == ("two:6651",))
    task.cancel()
    await metadata.close()


async def test_a_record_of_pulsars_own_is_read_and_one_that_is_none_is_passed_over():
    metadata = MemoryMetadataStore()
    record = b'{"pulsarServiceUrl":"pulsar://three:6650","webServiceUrl":"http://three:8080"}'
    await metadata.put(f"{paths.BROKERS}/three:8080", record)
    await metadata.put(paths.broker("odd:8080"), b"odd")
    found = await running(metadata, PulsarCodec())
    assert [each.service_url for each in found] == ["pulsar://three:6650"]
    await metadata.close()


async def until(there):
    async with asyncio.timeout(10):
        while not there():  # noqa: ASYNC110 - the store tells nobody else.
            await asyncio.sleep(0)
