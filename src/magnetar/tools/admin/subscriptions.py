"""The verbs of ``topics`` about subscriptions, and what they have not acknowledged."""

from typing import Final

from . import kinds
from .kinds import INTEGER, MESSAGE_ID, MILLIS, PAIRS, SECONDS
from .verb import SUBSCRIPTION, TOPIC, Verb, flag, need, opt

_SUBSCRIPTION: Final = "{topic}/subscription/{subscription}"
_FORCE: Final = flag("-f --force", "?force", "Even while somebody is connected.", default=False)
_EXCLUDE: Final = flag("-e --exclude-reset-position", "", "Not the message itself.")

SUBSCRIPTIONS: Final[tuple[Verb, ...]] = (
    Verb("subscriptions", "Its subscriptions.", "GET", "{topic}/subscriptions", (TOPIC,)),
    Verb(
        "create-subscription",
        "Create a subscription: it keeps what comes from there on.",
        "PUT",
        _SUBSCRIPTION,
        (
            TOPIC,
            SUBSCRIPTION,
            opt(
                "-m --messageId",
                "=",
                MESSAGE_ID,
                "latest, earliest or ledger:entry.",
                {**kinds.LATEST, "partitionIndex": -1, "batchIndex": -1},
            ),
            flag("-r --replicated", "?replicated", "In all clusters.", default=False),
            opt("-p --property", "properties", PAIRS, "a=b,c=d.", several=True),
        ),
        example="public/default/orders -s audit -m earliest",
    ),
    Verb(
        "unsubscribe",
        "Delete a subscription.",
        "DELETE",
        _SUBSCRIPTION,
        (TOPIC, SUBSCRIPTION, _FORCE),
    ),
    Verb(
        "get-subscription-properties",
        "The properties of a subscription.",
        "GET",
        f"{_SUBSCRIPTION}/properties",
        (TOPIC, SUBSCRIPTION),
    ),
    Verb(
        "update-subscription-properties",
        "Set all properties of a subscription.",
        "PUT",
        f"{_SUBSCRIPTION}/properties",
        (
            TOPIC,
            SUBSCRIPTION,
            opt("-p --property", "=", PAIRS, "a=b,c=d.", several=True),
            flag("-c --clear", "=", "Remove them all.", value={}),
        ),
        one_of=("property", "clear"),
    ),
    Verb(
        "skip",
        "Acknowledge so many messages for a subscription.",
        "POST",
        f"{_SUBSCRIPTION}/skip/{{count}}",
        (TOPIC, SUBSCRIPTION, need("-n --count", "{count}", INTEGER, "How many.")),
        example="public/default/orders -s audit -n 10",
    ),
    Verb(
        "clear-backlog",
        "Acknowledge everything for a subscription.",
        "POST",
        f"{_SUBSCRIPTION}/skip_all",
        (TOPIC, SUBSCRIPTION),
        also=("skip-all",),
    ),
    Verb(
        "expire-messages",
        "Acknowledge old messages for a subscription.",
        "POST",
        f"{_SUBSCRIPTION}/expireMessages/{{expireTime}}",
        (
            TOPIC,
            SUBSCRIPTION,
            opt("-t --expireTime", "{expireTime}", SECONDS, "What is older: 90s, 3h, 7d."),
            opt("-p --position", "=", MESSAGE_ID, "Up to here, as ledger:entry."),
            _EXCLUDE,
        ),
        paths=(("position", f"{_SUBSCRIPTION}/expireMessages"),),
        one_of=("expireTime", "position"),
        run="excluding",
        example="public/default/orders -s audit -t 7d",
    ),
    Verb(
        "expire-messages-all-subscriptions",
        "Acknowledge old messages for all subscriptions.",
        "POST",
        "{topic}/all_subscription/expireMessages/{expireTime}",
        (TOPIC, need("-t --expireTime", "{expireTime}", SECONDS, "What is older: 90s, 3h.")),
    ),
    Verb(
        "reset-cursor",
        "Move a subscription to another place: it gets what follows.",
        "POST",
        f"{_SUBSCRIPTION}/resetcursor/{{time}}",
        (
            TOPIC,
            SUBSCRIPTION,
            opt("-t --time", "", MILLIS, "So long ago: 10m, 3h, 7d."),
            opt("-m --messageId", "=", MESSAGE_ID, "latest, earliest or ledger:entry."),
            _EXCLUDE,
        ),
        paths=(("messageId", f"{_SUBSCRIPTION}/resetcursor"),),
        one_of=("time", "messageId"),
        run="reset_cursor",
        example="public/default/orders -s audit -t 3h",
    ),
    Verb(
        "peek-messages",
        "The next messages of a subscription, which stay there.",
        "GET",
        f"{_SUBSCRIPTION}/position/{{count}}",
        (
            TOPIC,
            SUBSCRIPTION,
            opt("-n --count", "{count}", INTEGER, "How many.", 1),
            flag("-ssm --show-server-marker", "", "With markers of the broker."),
            opt(
                "-til --transaction-isolation-level",
                "",
                kinds.choice("READ_COMMITTED", "READ_UNCOMMITTED"),
                "READ_COMMITTED or READ_UNCOMMITTED.",
                "READ_COMMITTED",
            ),
        ),
        run="peek",
        example="public/default/orders -s audit -n 3",
    ),
)
