"""The verbs of ``brokers``, ``broker-stats``, ``proxy-stats``, ``functions-worker``, ``tenants``,
``resource-quotas`` and ``resourcegroups``.
"""

from typing import Final

from . import kinds
from .kinds import INTEGER, TEXT, WORDS
from .verb import BUNDLE, CLUSTER, INDENT, TENANT, Verb, arg, flag, need, opt

_CONFIG: Final = need("-c --config", "{config}", TEXT, "The key.")

BROKERS: Final[tuple[Verb, ...]] = (
    Verb("list", "The brokers of a cluster.", "GET", "brokers/{cluster}", (CLUSTER,)),
    Verb("leader-broker", "The broker that leads.", "GET", "brokers/leaderBroker"),
    Verb(
        "namespaces",
        "What a broker has.",
        "GET",
        "brokers/{cluster}/{url}/ownedNamespaces",
        (CLUSTER, need("-u --url", "{url}", TEXT, "The broker: host:8080.")),
    ),
    Verb(
        "list-dynamic-config",
        "The keys that can be changed while it runs.",
        "GET",
        "brokers/configuration",
    ),
    Verb(
        "get-all-dynamic-config",
        "The values that were changed while it runs.",
        "GET",
        "brokers/configuration/values",
    ),
    Verb(
        "update-dynamic-config",
        "Change a value while it runs.",
        "POST",
        "brokers/configuration/{config}/{value}",
        (_CONFIG, need("-v --value", "{value}", TEXT, "The value.")),
        example="-c maxConcurrentLookupRequest -v 1000",
    ),
    Verb(
        "delete-dynamic-config",
        "Take a change back.",
        "DELETE",
        "brokers/configuration/{config}",
        (_CONFIG,),
    ),
    Verb("get-runtime-config", "The configuration.", "GET", "brokers/configuration/runtime"),
    Verb("get-internal-config", "Where it stores.", "GET", "brokers/internal-configuration"),
    Verb(
        "healthcheck",
        "Whether a message goes through it: ok.",
        "GET",
        "brokers/health",
        (opt("-tv --topic-version", "?topicVersion", kinds.choice("V1", "V2"), "V1 or V2."),),
    ),
    Verb("backlog-quota-check", "Check all quotas now.", "GET", "brokers/backlog-quota-check"),
    Verb("version", "Its version.", "GET", "brokers/version"),
    Verb(
        "shutdown",
        "End the broker.",
        "POST",
        "brokers/shutdown",
        (
            opt(
                "-m --max-concurrent-unload-per-sec",
                "?maxConcurrentUnloadPerSec",
                INTEGER,
                "Topics that are closed in a second; 0 for any number.",
                0,
            ),
            flag(
                "-f --forced-terminate-topic",
                "?forcedTerminateTopic",
                "Wait for no topic.",
                default=False,
            ),
        ),
    ),
)

BROKER_STATS: Final[tuple[Verb, ...]] = (
    Verb("monitoring-metrics", "Its metrics.", "GET", "broker-stats/metrics", (INDENT,)),
    Verb("mbeans", "Its beans.", "GET", "broker-stats/mbeans", (INDENT,)),
    Verb(
        "topics",
        "All its topics, as they were a minute ago at most.",
        "GET",
        "broker-stats/topics",
        (INDENT,),
        also=("destinations",),
    ),
    Verb(
        "allocator-stats",
        "Its memory.",
        "GET",
        "broker-stats/allocator-stats/{allocator}",
        (arg("allocator", "{allocator}"),),
    ),
    Verb("load-report", "Its load.", "GET", "broker-stats/load-report"),
)

PROXY_STATS: Final[tuple[Verb, ...]] = (
    Verb(
        "connections", "The connections of a proxy.", "GET", "/proxy-stats/connections", (INDENT,)
    ),
    Verb("topics", "The topics of a proxy.", "GET", "/proxy-stats/topics", (INDENT,)),
)

WORKER: Final[tuple[Verb, ...]] = (
    Verb("function-stats", "What its functions did.", "GET", "worker-stats/functionsmetrics"),
    Verb("monitoring-metrics", "Its metrics.", "GET", "worker-stats/metrics"),
    Verb("get-cluster", "The workers.", "GET", "worker/cluster"),
    Verb("get-cluster-leader", "The worker that leads.", "GET", "worker/cluster/leader"),
    Verb("get-function-assignments", "Who runs what.", "GET", "worker/assignments"),
    Verb("rebalance", "Share functions out again.", "PUT", "worker/rebalance"),
)

_TENANT: Final = "tenants/{tenant}"
_ADMINS: Final = opt("-r --admin-roles", "adminRoles", WORDS, "Its admins, commas between.")
_CLUSTERS: Final = opt(
    "-c --allowed-clusters", "allowedClusters", WORDS, "Its clusters, commas between. [all]"
)
_FORCE: Final = flag(
    "-f --force",
    "?force",
    "With all its namespaces, where the broker has forceDeleteTenantAllowed=true.",
    default=False,
)

TENANTS: Final[tuple[Verb, ...]] = (
    Verb("list", "The tenants.", "GET", "tenants"),
    Verb("get", "A tenant's admins and clusters.", "GET", _TENANT, (TENANT,)),
    Verb(
        "create",
        "Create a tenant.",
        "PUT",
        _TENANT,
        (TENANT, _ADMINS, _CLUSTERS),
        run="create_tenant",
        example="shop --admin-roles shop-admin",
    ),
    Verb(
        "update",
        "Change a tenant; what is not named stays.",
        "POST",
        _TENANT,
        (TENANT, _ADMINS, _CLUSTERS),
        run="update_tenant",
    ),
    Verb(
        "delete",
        "Delete a tenant.",
        "DELETE",
        _TENANT,
        (TENANT, _FORCE),
    ),
)

_QUOTA: Final = "resource-quotas/{namespace}/{bundle}"
_OF: Final = opt("-n --namespace", "{namespace}", kinds.NAMESPACE, "The namespace of the bundle.")


RESOURCE_QUOTAS: Final[tuple[Verb, ...]] = (
    Verb(
        "get",
        "What a bundle is expected to need; without one, any bundle.",
        "GET",
        "resource-quotas",
        (_OF, BUNDLE),
        paths=(("namespace bundle", _QUOTA),),
        run="both_or_neither",
    ),
    Verb(
        "set",
        "Say what a bundle is expected to need.",
        "POST",
        "resource-quotas",
        (
            _OF,
            BUNDLE,
            need("-mi --msgRateIn", "msgRateIn", INTEGER, "Messages in, a second."),
            need("-mo --msgRateOut", "msgRateOut", INTEGER, "Messages out, a second."),
            need("-bi --bandwidthIn", "bandwidthIn", INTEGER, "Bytes in, a second."),
            need("-bo --bandwidthOut", "bandwidthOut", INTEGER, "Bytes out, a second."),
            need("-mem --memory", "memory", INTEGER, "Mebibytes."),
            flag("-d --dynamic", "dynamic", "It may be computed anew.", default=False),
        ),
        paths=(("namespace bundle", _QUOTA),),
        run="both_or_neither",
    ),
    Verb(
        "reset-namespace-bundle-quota",
        "Forget what a bundle is expected to need.",
        "DELETE",
        _QUOTA,
        (
            need("-n --namespace", "{namespace}", kinds.NAMESPACE, "The namespace."),
            need("-b --bundle", "{bundle}", TEXT, "Its range."),
        ),
    ),
)

_GROUP: Final = arg("group", "{group}")
_RATES: Final = (
    opt("-mp --msg-publish-rate", "publishRateInMsgs", INTEGER, "Messages published; -1: off."),
    opt("-bp --byte-publish-rate", "publishRateInBytes", INTEGER, "Bytes published; -1: off."),
    opt("-md --msg-dispatch-rate", "dispatchRateInMsgs", INTEGER, "Messages sent; -1: off."),
    opt("-bd --byte-dispatch-rate", "dispatchRateInBytes", INTEGER, "Bytes sent; -1: off."),
)

RESOURCE_GROUPS: Final[tuple[Verb, ...]] = (
    Verb("list", "The resource groups.", "GET", "resourcegroups"),
    Verb("get", "Its limits.", "GET", "resourcegroups/{group}", (_GROUP,)),
    *(
        Verb(
            action,
            about,
            "PUT",
            "resourcegroups/{group}",
            (_GROUP, *_RATES),
            body={},
            example="shop --msg-publish-rate 1000",
        )
        for action, about in (("create", "Create a group."), ("update", "Change its limits."))
    ),
    Verb("delete", "Delete a group.", "DELETE", "resourcegroups/{group}", (_GROUP,)),
)
