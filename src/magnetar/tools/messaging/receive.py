"""``magnetar consume`` and ``magnetar read``, with the options of ``pulsar-client``'s."""

import asyncio
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from magnetar.tools.connection import Connection, about, connection_options
from magnetar.tools.groups import with_options
from magnetar.tools.output import output_lines

if TYPE_CHECKING:
    from magnetar.client.consumers.receiver import Receiver

TYPES: Final = ("Exclusive", "Shared", "Failover", "Key_Shared")
receive_options = with_options(
    click.option(
        "-n", "--num-messages", default=1, show_default=True, help="How many; 0: until Ctrl-C."
    ),
    click.option(
        "--wait",
        type=float,
        metavar="SECONDS",
        help="End when nothing comes for so long. [for ever]",
    ),
    click.option("--hex", "in_hex", is_flag=True, help="Show payloads as bytes."),
    click.option("--hide-content", is_flag=True, help="Show nothing of messages."),
    click.option("-r", "--rate", type=float, default=0.0, help="At most so many in a second."),
    click.option("-q", "--queue-size", type=int, help="How many the broker may send ahead."),
    click.option(
        "-mc",
        "--max_chunked_msg",
        "chunked_max",
        type=int,
        help="Chunked messages put together at the same time.",
    ),
    click.option(
        "-ekv", "--encryption-key-value", help="file:///path of a private key, or data:..."
    ),
    click.option(
        "-st",
        "--schema-type",
        type=click.Choice(("bytes", "auto_consume")),
        default="bytes",
        show_default=True,
        help="auto_consume: values by the topic's schema.",
    ),
    output_lines("a line for each message."),
)


@click.command()
@click.argument("topic")
@click.option("-s", "--subscription-name", required=True, help="The subscription.")
@click.option(
    "-t",
    "--subscription-type",
    type=click.Choice(TYPES, case_sensitive=False),
    default="Exclusive",
    show_default=True,
    help="How it shares messages out.",
)
@click.option(
    "-m",
    "--subscription-mode",
    type=click.Choice(("Durable", "NonDurable"), case_sensitive=False),
    default="Durable",
    show_default=True,
    help="NonDurable: it ends with this command.",
)
@click.option(
    "-p",
    "--subscription-position",
    type=click.Choice(("Latest", "Earliest"), case_sensitive=False),
    default="Latest",
    show_default=True,
    help="Where a new subscription begins.",
)
@click.option(
    "-ac",
    "--auto_ack_chunk_q_full",
    "drop_chunks",
    is_flag=True,
    help="Acknowledge chunked messages that have to make room.",
)
@click.option("--regex", is_flag=True, help="TOPIC is a pattern of names.")
@click.option("-rs", "--replicated", is_flag=True, help="Replicate the subscription's state.")
@click.option(
    "-ca",
    "--crypto-failure-action",
    type=click.Choice(("CONSUME", "DISCARD", "FAIL")),
    default="FAIL",
    help="What becomes of messages that cannot be decrypted.",
)
@receive_options
@connection_options
def consume(connection: Connection, topic: str, **given: Any) -> None:
    """Receive messages of TOPIC on a subscription, and acknowledge them.

    Example: magnetar consume orders -s billing -p Earliest -n 0
    """
    with about(topic):
        count = asyncio.run(_consume(connection, topic, given))
    if given["form"] == "text":
        click.echo(f"{count} messages successfully consumed")


@click.command()
@click.argument("topic")
@click.option(
    "-m",
    "--start-message-id",
    default="latest",
    show_default=True,
    help="latest, earliest or ledger:entry.",
)
@click.option(
    "-i",
    "--start-message-id-inclusive",
    "inclusive",
    is_flag=True,
    help="Begin with that message, and not after it.",
)
@receive_options
@connection_options
def read(connection: Connection, topic: str, **given: Any) -> None:
    """Read messages of TOPIC from a place on, without a subscription.

    Example: magnetar read orders -m earliest -n 10 -o json
    """
    with about(topic):
        count = asyncio.run(_read(connection, topic, given))
    if given["form"] == "text":
        click.echo(f"{count} messages successfully read")


async def _consume(connection: Connection, topic: str, given: dict[str, Any]) -> int:
    from magnetar.client.client import Client  # noqa: PLC0415 - --help needs none of it
    from magnetar.client.consumers.config import ConsumerCryptoFailureAction  # noqa: PLC0415
    from magnetar.model.subscriptions import InitialPosition, SubscriptionType  # noqa: PLC0415

    from .values import receiving  # noqa: PLC0415

    async with (
        Client(**connection.client) as client,
        await client.subscribe(
            re.compile(topic) if given["regex"] else topic,
            given["subscription_name"],
            schema=receiving(given["schema_type"]),
            type=SubscriptionType[given["subscription_type"].upper()],
            durable=given["subscription_mode"] == "Durable",
            initial_position=InitialPosition[given["subscription_position"].upper()],
            replicate_subscription_state=given["replicated"],
            ack_oldest_incomplete=given["drop_chunks"],
            crypto_failure_action=ConsumerCryptoFailureAction[given["crypto_failure_action"]],
            **_options(given),
        ) as consumer,
    ):
        return await _show_all(consumer, given, done=consumer.acknowledge)


async def _read(connection: Connection, topic: str, given: dict[str, Any]) -> int:
    from magnetar.client.client import Client  # noqa: PLC0415

    from .values import receiving  # noqa: PLC0415

    async with (
        Client(**connection.client) as client,
        await client.create_reader(
            topic,
            _start(given["start_message_id"]),
            inclusive=given["inclusive"],
            schema=receiving(given["schema_type"]),
            **_options(given),
        ) as reader,
    ):
        return await _show_all(reader, given, done=lambda _: None)


async def _show_all(
    receiver: "Receiver[Any]", given: dict[str, Any], *, done: Callable[[Any], object]
) -> int:
    """Print messages, and tell when each was printed. Returns how many there were."""
    from magnetar.clock import SystemClock  # noqa: PLC0415
    from magnetar.errors import TimedOut  # noqa: PLC0415

    from .shown import message_json, message_text  # noqa: PLC0415

    count, clock = 0, SystemClock()
    began = clock.now()
    while not given["num_messages"] or count < given["num_messages"]:
        if given["rate"] > 0:
            await clock.sleep(began + count / given["rate"] - clock.now())
        try:
            message = await receiver.receive(given["wait"])
        except TimedOut:
            break
        if not given["hide_content"]:
            in_json = given["form"] == "json"
            click.echo(
                message_json(message) if in_json else message_text(message, in_hex=given["in_hex"])
            )
        done(message)
        count += 1
    return count


def _options(given: dict[str, Any]) -> dict[str, Any]:
    from .values import OneKey  # noqa: PLC0415

    found: dict[str, Any] = {}
    if given["queue_size"] is not None:
        found["receiver_queue_size"] = given["queue_size"]
    if given["chunked_max"] is not None:
        found["chunked_messages_max"] = given["chunked_max"]
    if given["encryption_key_value"]:
        found["crypto_key_reader"] = OneKey(given["encryption_key_value"])
    return found


def _start(text: str) -> Any:
    from magnetar.model.position import (  # noqa: PLC0415
        EARLIEST_MESSAGE,
        LATEST_MESSAGE,
        MessageId,
    )

    ends = {"latest": LATEST_MESSAGE, "earliest": EARLIEST_MESSAGE}
    if text in ends:
        return ends[text]
    parts = text.split(":")
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise click.BadParameter(
            f"{text!r} is neither latest, earliest nor ledger:entry",
            param_hint="--start-message-id",
        )
    return MessageId(int(parts[0]), int(parts[1]))
