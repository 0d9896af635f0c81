"""What an application writes against the blocking client."""

from concurrent.futures import Future
from typing import assert_type

from magnetar import Message, MessageId, OutgoingMessage, TxnId
from magnetar.client.blocking import Client, Consumer, Producer, Transaction


def send(client: Client) -> None:
    with client.create_producer("orders") as producer:
        assert_type(producer, Producer)
        assert_type(producer.send(b"one", key=b"k"), MessageId)
        assert_type(producer.submit(OutgoingMessage(b"two")), Future[MessageId])
        producer.enqueue([b"three"])
        producer.flush()


def read_process_write(client: Client, consumer: Consumer, producer: Producer) -> None:
    with client.transaction(timeout_s=30) as txn:
        assert_type(txn, Transaction)
        message = consumer.receive()
        assert_type(producer.send(message.data, txn=txn), MessageId)
        consumer.acknowledge(message, txn=txn)
    assert_type(txn.id, TxnId)


def look_up(client: Client) -> None:
    with client.create_table_view("prices") as prices:
        assert_type(prices["EUR"], bytes)
        assert_type(len(prices), int)
        for key in prices:
            assert_type(key, str)


def receive() -> None:
    with (
        Client("pulsar://localhost:6650") as client,
        client.subscribe("orders", "billing") as consumer,
    ):
        assert_type(consumer, Consumer)
        for message in consumer:
            assert_type(message, Message)
            consumer.acknowledge(message)


def listen(client: Client) -> None:
    def listener(consumer: Consumer, message: Message) -> None:
        consumer.acknowledge(message)

    assert_type(client.subscribe("orders", "billing", listener=listener), Consumer)
    client.create_reader("orders", listener=print)
    client.subscribe("orders", "billing", listener=len)  # type: ignore[arg-type]
