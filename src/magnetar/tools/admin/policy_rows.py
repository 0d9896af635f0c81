"""The policies that namespaces and topics have alike: the options that set each."""

from collections.abc import Callable
from typing import Final

from . import kinds
from .kinds import BYTES, INTEGER, MEBIBYTES, MILLIS, MINUTES, NUMBER, SECONDS, TEXT, WORDS
from .verb import Param, Verb, flag, need, opt

QUOTA_TYPE: Final = kinds.choice("destination_storage", "message_age")
STRATEGIES: Final = kinds.choice(
    "UNDEFINED",
    "ALWAYS_INCOMPATIBLE",
    "ALWAYS_COMPATIBLE",
    "BACKWARD",
    "FORWARD",
    "FULL",
    "BACKWARD_TRANSITIVE",
    "FORWARD_TRANSITIVE",
    "FULL_TRANSITIVE",
)

DISPATCH_RATE: Final = (
    opt(
        "-md --msg-dispatch-rate", "dispatchThrottlingRateInMsg", INTEGER, "Messages; -1: off.", -1
    ),
    opt("-bd --byte-dispatch-rate", "dispatchThrottlingRateInByte", INTEGER, "Bytes; -1: off.", -1),
    opt("-dt --dispatch-rate-period", "ratePeriodInSecond", INTEGER, "In so many seconds.", 1),
)
RELATIVE: Final = flag(
    "-rp --relative-to-publish-rate",
    "relativeToPublishRate",
    "On top of the rate of what is published.",
    default=False,
)
SUBSCRIBE_RATE: Final = (
    opt(
        "-sr --subscribe-rate",
        "subscribeThrottlingRatePerConsumer",
        INTEGER,
        "How often a consumer may subscribe; -1: off.",
        -1,
    ),
    opt("-st --subscribe-rate-period", "ratePeriodInSecond", INTEGER, "In so many seconds.", 30),
)
PUBLISH_RATE: Final = (
    opt("-m --msg-publish-rate", "publishThrottlingRateInMsg", INTEGER, "Messages/s; -1: off.", -1),
    opt("-b --byte-publish-rate", "publishThrottlingRateInByte", INTEGER, "Bytes/s; -1: off.", -1),
)
PERSISTENCE: Final = (
    opt("-e --bookkeeper-ensemble", "bookkeeperEnsemble", INTEGER, "Bookies of a ledger.", 2),
    opt("-w --bookkeeper-write-quorum", "bookkeeperWriteQuorum", INTEGER, "Copies of entries.", 2),
    opt("-a --bookkeeper-ack-quorum", "bookkeeperAckQuorum", INTEGER, "Copies waited for.", 2),
    opt(
        "-r --ml-mark-delete-max-rate",
        "managedLedgerMaxMarkDeleteRate",
        NUMBER,
        "How often in a second the place of a cursor is written; 0: always.",
        0.0,
    ),
    opt("-c --ml-storage-class", "managedLedgerStorageClassName", TEXT, "The class of storage."),
)
RETENTION: Final = (
    need(
        "-t --time", "retentionTimeInMinutes", MINUTES, "How long: 10m, 3h, 7d; 0: not, -1: ever."
    ),
    need("-s --size", "retentionSizeInMB", MEBIBYTES, "How much: 10M, 2G; 0: nothing, -1: all."),
)
BACKLOG_QUOTA: Final = (
    opt("-l --limit", "limit limitSize", BYTES, "The size: 10M, 16G.", -1),
    opt("-lt --limitTime", "limitTime", SECONDS, "The age: 90s, 3h, 7d.", -1),
    need(
        "-p --policy",
        "policy",
        kinds.choice("producer_request_hold", "producer_exception", "consumer_backlog_eviction"),
        "producer_request_hold, producer_exception or consumer_backlog_eviction.",
    ),
    opt(
        "-t --type",
        "?backlogQuotaType",
        QUOTA_TYPE,
        "destination_storage (its size) or message_age.",
        "destination_storage",
    ),
)
QUOTA_OF_TYPE: Final = opt(
    "-t --type", "?backlogQuotaType", QUOTA_TYPE, "Which quota.", "destination_storage"
)
DELAYED_DELIVERY: Final = (
    flag("-e --enable", "active", "Deliver late what asks for it."),
    flag("-d --disable", "active", "Deliver at once.", value=False),
    opt("-t --time", "tickTime", MILLIS, "How exact it is: 1s, 1m.", 1000),
    opt("-md --maxDelay", "maxDeliveryDelayInMillis", MILLIS, "The longest delay; 0: any.", 0),
)
INACTIVE_TOPICS: Final = (
    flag("-e --enable-delete-while-inactive", "deleteWhileInactive", "Delete them."),
    flag("-d --disable-delete-while-inactive", "deleteWhileInactive", "Keep them.", value=False),
    need(
        "-t --max-inactive-duration", "maxInactiveDurationSeconds", SECONDS, "After: 100m, 3h, 2d."
    ),
    need(
        "-m --delete-mode",
        "inactiveTopicDeleteMode",
        kinds.choice("delete_when_no_subscriptions", "delete_when_subscriptions_caught_up"),
        "delete_when_no_subscriptions or delete_when_subscriptions_caught_up.",
    ),
)
INACTIVE_ONE_OF: Final = ("enable_delete_while_inactive", "disable_delete_while_inactive")
SUBSCRIPTION_TYPES: Final = (
    need("-t --types", "=", WORDS, "Of Exclusive, Shared, Failover, Key_Shared.", several=True),
)
ENTRY_FILTERS: Final = (
    need("-efn --entry-filters-name", "entryFilterNames", TEXT, "Their names, commas between."),
)


def policies(
    subject: Param,
    base: str,
    *,
    get: tuple[Param, ...] = (),
    change: tuple[Param, ...] = (),
) -> Callable[..., tuple[Verb, ...]]:
    """Makes the verbs get, set and remove of each policy of ``subject``.

    ``get`` and ``change`` are options of the verbs that read, and that set or remove.
    """

    def policy(
        noun: str,
        path: str,
        about: str,
        *params: Param,
        method: str = "POST",
        read: tuple[Param, ...] | None = None,
        one_of: tuple[str, ...] = (),
        run: str = "",
        example: str = "",
        removed_with: tuple[Param, ...] = (),
        without_remove: bool = False,
        paths: tuple[tuple[str, str], ...] = (),
        read_path: str = "",
    ) -> tuple[Verb, ...]:
        shown = (subject, *(get if read is None else read))
        where = f"{base}/{path}"
        found = (
            Verb(
                f"get-{noun}",
                f"Show {about}.",
                "GET",
                f"{base}/{read_path or path}",
                shown + tuple(one for one in removed_with if one.name == "subscription"),
                paths=paths,
            ),
            Verb(
                f"set-{noun}",
                f"Set {about}.",
                method,
                where,
                (subject, *params, *change),
                one_of=one_of,
                run=run,
                example=example,
                paths=paths,
            ),
            Verb(
                f"remove-{noun}",
                f"Remove {about}: what is above it holds.",
                "DELETE",
                where,
                (subject, *removed_with, *change),
                paths=paths,
            ),
        )
        return found[:2] if without_remove else found

    return policy


def limit(names: str, about: str) -> Param:
    """The one option of a policy that is a number."""
    return need(names, "=", INTEGER, about)
