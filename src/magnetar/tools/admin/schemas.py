"""The verbs of ``schemas``, ``packages`` and ``transactions``."""

from typing import Final

from . import kinds
from .kinds import FILE, INTEGER, MILLIS, PAIRS, SUBSCRIPTION, TEXT
from .verb import NAMESPACE, Verb, arg, flag, need, opt

_TOPIC: Final = arg("topic", "{topic}", kinds.TOPIC_OF_SCHEMA, "tenant/namespace/topic")
_SCHEMA: Final = "schemas/{topic}/schema"
_FILE: Final = need(
    "-f --filename", "", FILE, 'JSON: {"type": "AVRO", "schema": "...", "properties": {}}.'
)

SCHEMAS: Final[tuple[Verb, ...]] = (
    Verb(
        "get",
        "The schema of a topic.",
        "GET",
        _SCHEMA,
        (
            _TOPIC,
            opt("-v --version", "{version}", INTEGER, "One version."),
            flag("-a --all-version", "", "All versions."),
        ),
        paths=(("all_version", "schemas/{topic}/schemas"), ("version", f"{_SCHEMA}/{{version}}")),
    ),
    Verb(
        "upload",
        "Give a topic a schema.",
        "POST",
        _SCHEMA,
        (_TOPIC, _FILE),
        run="schema_file",
        example="public/default/orders -f orders.json",
    ),
    Verb(
        "compatibility",
        "Whether a schema goes with those that a topic has.",
        "POST",
        "schemas/{topic}/compatibility",
        (_TOPIC, _FILE),
        run="schema_file",
    ),
    Verb("metadata", "Its schemas, in short.", "GET", "schemas/{topic}/metadata", (_TOPIC,)),
    Verb(
        "delete",
        "Delete the schemas of a topic.",
        "DELETE",
        _SCHEMA,
        (_TOPIC, flag("-f --force", "?force", "Wholly: versions begin at 0 again.", default=False)),
    ),
    Verb(
        "extract",
        "The schema of a class in a jar.",
        "POST",
        "",
        (
            _TOPIC,
            opt("-j --jar", "", FILE, "The jar."),
            opt("-t --type", "", TEXT, "avro or json."),
            opt("-c --classname", "", TEXT, "The class."),
            opt("-a --always-allow-null", "", kinds.BOOLEAN, "Null is a value."),
            flag("-n --dry-run", "", "Only show it."),
        ),
        refused="it reads a class of Java: write the schema to a file, and give it to "
        "magnetar admin schemas upload",
    ),
)

_PACKAGES: Final = "/admin/v3/packages"
_PACKAGE: Final = arg("package", "{package}", kinds.PACKAGE, "type://tenant/ns/name@version")
_METADATA: Final = (
    opt("-c --contact", "contact", TEXT, "Whom to ask."),
    opt("-P --properties", "properties", PAIRS, "a=b,c=d.", {}, several=True),
)

PACKAGES: Final[tuple[Verb, ...]] = (
    Verb(
        "list",
        "The packages of a namespace.",
        "GET",
        f"{_PACKAGES}/{{type}}/{{namespace}}",
        (NAMESPACE, need("--type", "{type}", TEXT, "function, source or sink.")),
    ),
    Verb(
        "list-versions",
        "The versions of a package.",
        "GET",
        f"{_PACKAGES}/{{package}}",
        (arg("package", "{package}", kinds.ANY_PACKAGE, "type://tenant/namespace/name"),),
    ),
    Verb(
        "upload",
        "Store a package.",
        "POST",
        f"{_PACKAGES}/{{package}}",
        (
            _PACKAGE,
            need("--description", "description", TEXT, "What it is."),
            *_METADATA,
            need("--path", "", FILE, "The file."),
        ),
        run="upload_package",
    ),
    Verb(
        "download",
        "Fetch a package.",
        "GET",
        f"{_PACKAGES}/{{package}}",
        (_PACKAGE, need("--path", "", FILE, "Where it goes.")),
        run="download_package",
    ),
    Verb("get-metadata", "About it.", "GET", f"{_PACKAGES}/{{package}}/metadata", (_PACKAGE,)),
    Verb(
        "update-metadata",
        "Change what is said about it.",
        "PUT",
        f"{_PACKAGES}/{{package}}/metadata",
        (_PACKAGE, need("-d --description", "description", TEXT, "What it is."), *_METADATA),
    ),
    Verb("delete", "Delete a package.", "DELETE", f"{_PACKAGES}/{{package}}", (_PACKAGE,)),
)

_HERE: Final = "/admin/v3/transactions"
_OF: Final = need("-t --topic", "{topic}", kinds.TOPIC_OF_SCHEMA, "The topic.")
_SUBSCRIPTION: Final = need("-s --subscription-name", "{name}", SUBSCRIPTION, "The subscription.")
_SUB: Final = need("-s --sub-name", "{name}", SUBSCRIPTION, "The subscription.")
_ID: Final = (
    need("-m --most-sig-bits", "{most}", INTEGER, "The first half of its id."),
    need("-l --least-sig-bits", "{least}", INTEGER, "The other half."),
)
_LEDGERS: Final = flag("-m --metadata", "?metadata", "With that of ledgers.", default=False)
_MARKS: Final = flag("-l --low-water-mark", "?lowWaterMarks", "With low marks.", default=False)
_COORDINATOR: Final = opt("-c --coordinator-id", "?coordinatorId", INTEGER, "Of one. [all]")

TRANSACTIONS: Final[tuple[Verb, ...]] = (
    Verb("coordinators-list", "The coordinators.", "GET", f"{_HERE}/coordinators"),
    Verb("coordinator-stats", "What they do.", "GET", f"{_HERE}/coordinatorStats", (_COORDINATOR,)),
    Verb(
        "coordinator-internal-stats",
        "The log of a coordinator.",
        "GET",
        f"{_HERE}/coordinatorInternalStats/{{coordinator}}",
        (need("-c --coordinator-id", "{coordinator}", INTEGER, "Which."), _LEDGERS),
    ),
    Verb(
        "scale-transactionCoordinators",
        "Have so many coordinators.",
        "POST",
        f"{_HERE}/transactionCoordinator/replicas",
        (need("-r --replicas", "=", INTEGER, "How many."),),
    ),
    Verb(
        "slow-transactions",
        "What is open for long.",
        "GET",
        f"{_HERE}/slowTransactions/{{time}}",
        (need("-t --time", "{time}", MILLIS, "So long: 10s, 5m."), _COORDINATOR),
    ),
    Verb(
        "transaction-metadata",
        "A transaction.",
        "GET",
        f"{_HERE}/transactionMetadata/{{most}}/{{least}}",
        _ID,
    ),
    Verb(
        "abort-transaction",
        "Abort a transaction.",
        "POST",
        f"{_HERE}/abortTransaction/{{most}}/{{least}}",
        _ID,
    ),
    Verb(
        "transaction-buffer-stats",
        "The transactions of a topic.",
        "GET",
        f"{_HERE}/transactionBufferStats/{{topic}}",
        (_OF, _MARKS, flag("-s --segment-stats", "?segmentStats", "By segment.", default=False)),
    ),
    Verb(
        "buffer-snapshot-internal-stats",
        "The snapshots of a topic.",
        "GET",
        f"{_HERE}/transactionBufferInternalStats/{{topic}}",
        (_OF, _LEDGERS),
    ),
    Verb(
        "transaction-in-buffer-stats",
        "A transaction in a topic.",
        "GET",
        f"{_HERE}/transactionInBufferStats/{{topic}}/{{most}}/{{least}}",
        (*_ID, _OF),
    ),
    Verb(
        "pending-ack-stats",
        "The transactions of a subscription.",
        "GET",
        f"{_HERE}/pendingAckStats/{{topic}}/{{name}}",
        (_OF, _SUB, _MARKS),
    ),
    Verb(
        "pending-ack-internal-stats",
        "Their log.",
        "GET",
        f"{_HERE}/pendingAckInternalStats/{{topic}}/{{name}}",
        (_OF, _SUBSCRIPTION, _LEDGERS),
    ),
    Verb(
        "transaction-in-pending-ack-stats",
        "A transaction in a subscription.",
        "GET",
        f"{_HERE}/transactionInPendingAckStats/{{topic}}/{{name}}/{{most}}/{{least}}",
        (*_ID, _OF, _SUB),
    ),
    Verb(
        "position-stats-in-pending-ack",
        "What a transaction did to a message.",
        "GET",
        f"{_HERE}/positionStatsInPendingAck/{{topic}}/{{name}}/{{ledger}}/{{entry}}",
        (
            _OF,
            _SUBSCRIPTION,
            need("-l --ledger-id", "{ledger}", INTEGER, "Its ledger."),
            need("-e --entry-id", "{entry}", INTEGER, "Its entry."),
            opt("-b --batch-index", "?batchIndex", INTEGER, "Its place in a batch."),
        ),
    ),
)
