"""``magnetar produce``: sends messages, with the options of ``pulsar-client produce``."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from magnetar.tools.connection import Connection, about, connection_options
from magnetar.tools.output import output_lines

if TYPE_CHECKING:
    from magnetar.client.producers.config import ProducerOptions
    from magnetar.model.position import MessageId


@click.command()
@click.argument("topic")
@click.option("-m", "--messages", multiple=True, help="Messages to send; several with commas.")
@click.option("-f", "--files", multiple=True, help="Files to send, each as a message; with commas.")
@click.option("-n", "--num-produce", default=1, show_default=True, help="How often to send all.")
@click.option("-r", "--rate", type=float, default=0.0, help="Messages in a second; 0: no limit.")
@click.option("-s", "--separator", default=",", show_default=True, help="Parts texts of -m.")
@click.option("-k", "--key", help="The key of every message.")
@click.option("-p", "--properties", multiple=True, help="name=value; several with commas.")
@click.option("-db", "--disable-batching", is_flag=True, help="Each message by itself.")
@click.option("-c", "--chunking", is_flag=True, help="Split messages that are too large.")
@click.option(
    "-vs",
    "--value-schema",
    default="bytes",
    show_default=True,
    help="bytes, string, json:DEFINITION or avro:DEFINITION.",
)
@click.option(
    "-ks",
    "--key-schema",
    default="string",
    show_default=True,
    help="The same for keys, with -kvet.",
)
@click.option("-kvk", "--key-value-key", help="The key of a pair, with -kvet.")
@click.option(
    "-kvkf",
    "--key-value-key-file",
    type=click.Path(exists=True, dir_okay=False),
    help="A file with that key.",
)
@click.option(
    "-kvet",
    "--key-value-encoding-type",
    "encoding",
    default="none",
    type=click.Choice(("none", "separated", "inline")),
    help="Whether messages are pairs of a key and a value.",
)
@click.option("-ekn", "--encryption-key-name", help="Whose key to encrypt with.")
@click.option("-ekv", "--encryption-key-value", help="file:///path of a public key, or data:...")
@click.option("-dr", "--disable-replication", is_flag=True, help="Keep it in this cluster.")
@output_lines("the id of each message, a line each.")
@connection_options
def produce(connection: Connection, topic: str, **given: Any) -> None:
    """Send messages to TOPIC.

    Exit code 0 when all are stored, 1 when one is not.

    Example: magnetar produce orders -m 'one,two' -k customer -p colour=red
    """
    from .values import properties_of  # noqa: PLC0415 - --help needs none of it

    order = Order(topic, properties=properties_of(given.pop("properties")), **given)
    with about(topic):
        sent = asyncio.run(_produce(connection, order))
    if order.form == "text":
        click.echo(f"{sent} messages successfully produced")


@dataclass(frozen=True)
class Order:
    """The messages to send."""

    topic: str
    messages: tuple[str, ...]
    files: tuple[str, ...]
    num_produce: int
    rate: float
    separator: str
    key: str | None
    properties: dict[str, str]
    disable_batching: bool
    chunking: bool
    value_schema: str
    key_schema: str
    key_value_key: str | None
    key_value_key_file: str | None
    encoding: str
    encryption_key_name: str | None
    encryption_key_value: str | None
    disable_replication: bool
    form: str

    def contents(self) -> Iterator[bytes]:
        """What one round sends. Raises a usage error."""
        if not (self.messages or self.files):
            raise click.UsageError("Say what to send, with -m or -f")
        for message in self.messages:
            parts = message.split(self.separator) if self.separator else [message]
            yield from (part.encode(errors="surrogateescape") for part in parts)
        for names in self.files:
            for name in names.split(","):
                try:
                    yield Path(name).read_bytes()
                except OSError as error:
                    raise click.BadParameter(f"{name}: {error.strerror}", param_hint="-f") from None

    def options(self) -> "ProducerOptions":
        """Raises a usage error, InvalidValue."""
        from .values import OneKey  # noqa: PLC0415

        found: ProducerOptions = {
            "batching": not (self.disable_batching or self.chunking),
            "chunking": self.chunking,
        }
        if bool(self.encryption_key_name) != bool(self.encryption_key_value):
            raise click.UsageError("-ekn and -ekv belong together")
        if self.encryption_key_name and self.encryption_key_value:
            found["encryption_keys"] = [self.encryption_key_name]
            found["crypto_key_reader"] = OneKey(self.encryption_key_value)
        return found


async def _produce(connection: Connection, order: Order) -> int:
    from magnetar.client.client import Client  # noqa: PLC0415
    from magnetar.clock import SystemClock  # noqa: PLC0415
    from magnetar.model.position import MessageId  # noqa: PLC0415

    schema, values = _values(order)
    details: dict[str, Any] = {"properties": order.properties}
    if order.key is not None:
        details["key"] = order.key
    if order.disable_replication:
        details["replication_clusters"] = ()
    sent, clock = 0, SystemClock()
    async with (
        Client(**connection.client) as client,
        await client.create_producer(order.topic, schema=schema, **order.options()) as producer,
    ):
        began = clock.now()
        pending: list[asyncio.Future[MessageId]] = []

        async def settle() -> None:
            for receipt in await asyncio.gather(*pending):
                if order.form == "json" and isinstance(receipt, MessageId):
                    click.echo(_shown(receipt))
            pending.clear()

        for _ in range(order.num_produce):
            for value in values:
                if order.rate > 0:
                    await settle()
                    await clock.sleep(began + sent / order.rate - clock.now())
                pending.append(producer.submit(value, **details))
                sent += 1
                if len(pending) >= 1000:
                    await settle()
        await settle()
    return sent


def _values(order: Order) -> tuple[Any, list[Any]]:
    """The producer's schema, and what one round sends. Raises InvalidValue, a usage error."""
    from .values import pair_of, paired, schema_of  # noqa: PLC0415

    schema, parse = schema_of(order.value_schema, "--value-schema")
    values = [parse(each) for each in order.contents()]
    if order.encoding == "none":
        return schema, values
    key_schema, parse_key = schema_of(order.key_schema, "--key-schema")
    if order.key_value_key is not None:
        key = order.key_value_key.encode()
    elif order.key_value_key_file is not None:
        key = Path(order.key_value_key_file).read_bytes()
    else:
        raise click.UsageError("-kvet needs the key, with -kvk or -kvkf")
    pairs = [paired(parse_key(key), value) for value in values]
    return pair_of(key_schema, schema, order.encoding), pairs


def _shown(message_id: "MessageId") -> str:
    from .shown import id_json, line_of  # noqa: PLC0415

    return line_of({"id": id_json(message_id)})
