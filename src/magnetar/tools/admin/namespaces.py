"""The verbs of ``namespaces``."""

from typing import Final

from . import kinds
from .kinds import INTEGER, PAIRS, TEXT, WORDS
from .namespace_policies import POLICIES
from .verb import (
    BUNDLE,
    NAMESPACE,
    ROLE,
    SUBSCRIPTION,
    SYSTEM_TOPICS,
    TENANT,
    Verb,
    flag,
    need,
    opt,
)

_HERE: Final = "namespaces/{namespace}"
_BUNDLE: Final = "namespaces/{namespace}/{bundle}"
_CLUSTERS: Final = need("-c --clusters", "=", WORDS, "Their names, commas between.")
_KEY: Final = need("-k --key", "{key}", TEXT, "Its key.")
_SUBSCRIPTION: Final = opt("-s --sub", "{sub}", kinds.SUBSCRIPTION, "Of one subscription.")
_FORCE: Final = flag(
    "-f --force",
    "?force",
    "With all its topics, where the broker has forceDeleteNamespaceAllowed=true.",
    default=False,
)
ACTIONS: Final = kinds.Kind(
    "ACTIONS",
    kinds.words_of("produce", "consume", "sources", "sinks", "functions", "packages"),
)

VERBS: Final[tuple[Verb, ...]] = (
    Verb("list", "The namespaces of a tenant.", "GET", "namespaces/{tenant}", (TENANT,)),
    Verb(
        "topics",
        "The topics of a namespace.",
        "GET",
        f"{_HERE}/topics",
        (
            NAMESPACE,
            opt(
                "-m --mode",
                "?mode",
                kinds.choice("PERSISTENT", "NON_PERSISTENT", "ALL"),
                "PERSISTENT, NON_PERSISTENT or ALL.",
            ),
            SYSTEM_TOPICS,
        ),
        also=("destinations",),
    ),
    Verb("bundles", "The bundles of a namespace.", "GET", f"{_HERE}/bundles", (NAMESPACE,)),
    Verb("policies", "All policies of a namespace.", "GET", _HERE, (NAMESPACE,)),
    Verb(
        "create",
        "Create a namespace.",
        "PUT",
        _HERE,
        (
            NAMESPACE,
            opt("-b --bundles", "numBundles", INTEGER, "How many bundles it has."),
            opt("-c --clusters", "replication_clusters", WORDS, "Its clusters, commas between."),
        ),
        run="create_namespace",
        example="public/orders --bundles 4",
    ),
    Verb(
        "delete",
        "Delete a namespace.",
        "DELETE",
        _HERE,
        (NAMESPACE, _FORCE),
    ),
    Verb("permissions", "Who may do what.", "GET", f"{_HERE}/permissions", (NAMESPACE,)),
    Verb(
        "grant-permission",
        "Let a role do something.",
        "POST",
        f"{_HERE}/permissions/{{role}}",
        (
            NAMESPACE,
            ROLE,
            need("--actions", "=", ACTIONS, "produce, consume, functions ...", several=True),
        ),
        example="public/default --role app --actions produce,consume",
    ),
    Verb(
        "revoke-permission",
        "Let a role do nothing any more.",
        "DELETE",
        f"{_HERE}/permissions/{{role}}",
        (NAMESPACE, ROLE),
    ),
    Verb(
        "subscription-permission",
        "Which roles may use which subscriptions.",
        "GET",
        f"{_HERE}/permissions/subscription",
        (NAMESPACE,),
    ),
    Verb(
        "grant-subscription-permission",
        "Let roles use a subscription.",
        "POST",
        f"{_HERE}/permissions/subscription/{{subscription}}",
        (
            NAMESPACE,
            SUBSCRIPTION,
            need("-rs --roles", "=", WORDS, "The roles, commas between.", several=True),
        ),
    ),
    Verb(
        "revoke-subscription-permission",
        "Let a role use a subscription no more.",
        "DELETE",
        f"{_HERE}/permissions/{{subscription}}/{{role}}",
        (NAMESPACE, SUBSCRIPTION, ROLE),
    ),
    Verb("get-clusters", "The clusters it is in.", "GET", f"{_HERE}/replication", (NAMESPACE,)),
    Verb(
        "set-clusters",
        "Set the clusters it is in.",
        "POST",
        f"{_HERE}/replication",
        (NAMESPACE, _CLUSTERS),
    ),
    Verb(
        "get-allowed-clusters",
        "The clusters it may be in.",
        "GET",
        f"{_HERE}/allowedClusters",
        (NAMESPACE,),
    ),
    Verb(
        "set-allowed-clusters",
        "Set the clusters it may be in.",
        "POST",
        f"{_HERE}/allowedClusters",
        (NAMESPACE, _CLUSTERS),
    ),
    Verb(
        "get-anti-affinity-namespaces",
        "The namespaces of a group that keep apart.",
        "GET",
        "namespaces/{cluster}/antiAffinity/{group}",
        (
            opt("-p --tenant", "?property", TEXT, "A tenant, for authorization."),
            need("-c --cluster", "{cluster}", TEXT, "The cluster."),
            need("-g --group", "{group}", TEXT, "The group."),
        ),
    ),
    Verb(
        "unload",
        "Close its topics: who uses them connects again.",
        "PUT",
        f"{_HERE}/unload",
        (
            NAMESPACE,
            BUNDLE,
            opt("-d --destinationBroker", "?destinationBroker", TEXT, "Where it goes."),
        ),
        paths=(("bundle", f"{_BUNDLE}/unload"),),
        run="unload",
    ),
    Verb(
        "split-bundle",
        "Split a bundle.",
        "PUT",
        f"{_BUNDLE}/split",
        (
            NAMESPACE,
            BUNDLE,
            opt(
                "-bt --bundle-type",
                "{bundle_type}",
                kinds.choice("LARGEST", "HOT"),
                "LARGEST or HOT in place of a range.",
            ),
            flag("-u --unload", "?unload", "Unload it then.", default=False),
            opt("-san --split-algorithm-name", "?splitAlgorithmName", TEXT, "How it is split."),
            opt("-sb --split-boundaries", "?splitBoundaries", WORDS, "Where it is split."),
        ),
        paths=(("bundle_type", f"{_HERE}/{{bundle_type}}/split"),),
        one_of=("bundle", "bundle_type"),
        example="public/default --bundle 0x00000000_0x40000000",
    ),
    Verb(
        "get-topic-positions",
        "Where topics are in a bundle.",
        "GET",
        f"{_BUNDLE}/topicHashPositions",
        (
            NAMESPACE,
            need("-b --bundle", "{bundle}", TEXT, "Its range."),
            opt("-t -tl --topic-list", "?topics", WORDS, "Some topics, commas between."),
        ),
    ),
    Verb(
        "clear-backlog",
        "Skip what is not acknowledged, of all topics.",
        "POST",
        f"{_HERE}/clearBacklog",
        (NAMESPACE, _SUBSCRIPTION, BUNDLE, flag("-force --force", "", "Do not ask.")),
        paths=(
            ("sub bundle", f"{_BUNDLE}/clearBacklog/{{sub}}"),
            ("sub", f"{_HERE}/clearBacklog/{{sub}}"),
            ("bundle", f"{_BUNDLE}/clearBacklog"),
        ),
        ask="Clear the backlog of the namespace?",
    ),
    Verb(
        "unsubscribe",
        "Delete a subscription of all topics.",
        "POST",
        f"{_HERE}/unsubscribe/{{sub}}",
        (NAMESPACE, need("-s --sub", "{sub}", kinds.SUBSCRIPTION, "The subscription."), BUNDLE),
        paths=(("bundle", f"{_BUNDLE}/unsubscribe/{{sub}}"),),
    ),
    Verb("get-properties", "Its properties.", "GET", f"{_HERE}/properties", (NAMESPACE,)),
    Verb(
        "set-properties",
        "Set properties.",
        "PUT",
        f"{_HERE}/properties",
        (NAMESPACE, need("-p --properties", "=", PAIRS, "a=b,c=d.", several=True)),
    ),
    Verb("clear-properties", "Remove all.", "DELETE", f"{_HERE}/properties", (NAMESPACE,)),
    Verb("get-property", "One property.", "GET", f"{_HERE}/property/{{key}}", (NAMESPACE, _KEY)),
    Verb(
        "set-property",
        "Set one property.",
        "PUT",
        f"{_HERE}/property/{{key}}/{{value}}",
        (NAMESPACE, _KEY, need("-v --value", "{value}", TEXT, "Its value.")),
    ),
    Verb(
        "remove-property",
        "Remove one property.",
        "DELETE",
        f"{_HERE}/property/{{key}}",
        (NAMESPACE, _KEY),
    ),
    Verb(
        "update-migration-state",
        "Say whether it has moved to another cluster.",
        "POST",
        f"{_HERE}/migration",
        (NAMESPACE, flag("--migrated", "=", "It has.", default=False)),
    ),
    Verb(
        "list-cluster",
        "The namespaces of a cluster.",
        "GET",
        "",
        (TENANT,),
        hidden=True,
        refused="namespaces belonged to clusters before Pulsar 2: magnetar admin namespaces list",
    ),
    *POLICIES,
)
