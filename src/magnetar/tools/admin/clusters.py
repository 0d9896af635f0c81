"""The verbs of ``clusters``, ``ns-isolation-policy`` and ``bookies``."""

from typing import Final

from . import kinds
from .kinds import FILE, PAIRS, TEXT, WORDS
from .verb import CLUSTER, Param, Verb, arg, flag, need, opt

_HERE: Final = "clusters/{cluster}"
_DOMAIN: Final = need("--domain-name", "{domain_name}", TEXT, "The name of the failure domain.")
_BROKERS: Final = opt("--broker-list", "brokers", WORDS, "Its brokers, commas between.")


def _text(name: str, key: str, about: str) -> Param:
    return opt(name, key, TEXT, about)


_DATA: Final = (
    _text("--url", "serviceUrl", "The admin API: http://host:8080."),
    _text("--url-secure", "serviceUrlTls", "The same over TLS."),
    _text("--broker-url", "brokerServiceUrl", "The brokers: pulsar://host:6650."),
    _text("--broker-url-secure", "brokerServiceUrlTls", "The same over TLS."),
    _text("--proxy-url", "proxyServiceUrl", "A proxy in front of the brokers."),
    opt("--proxy-protocol", "proxyProtocol", kinds.choice("SNI"), "How it is spoken to: SNI."),
    _text("--auth-plugin", "authenticationPlugin", "How other clusters say who they are."),
    _text("--auth-parameters", "authenticationParameters", "What the plugin takes."),
    flag("--tls-enable", "brokerClientTlsEnabled", "Connect over TLS.", default=False),
    flag("--tls-allow-insecure", "tlsAllowInsecureConnection", "Any certificate.", default=False),
    flag(
        "--tls-enable-keystore",
        "brokerClientTlsEnabledWithKeyStore",
        "With key stores of Java.",
        default=False,
    ),
    _text("--tls-trust-store-type", "brokerClientTlsTrustStoreType", "JKS or PKCS12."),
    _text("--tls-trust-store", "brokerClientTlsTrustStore", "Its file."),
    _text("--tls-trust-store-pwd", "brokerClientTlsTrustStorePassword", "Its password."),
    _text("--tls-key-store-type", "brokerClientTlsKeyStoreType", "JKS or PKCS12."),
    _text("--tls-key-store", "brokerClientTlsKeyStore", "Its file."),
    _text("--tls-key-store-pwd", "brokerClientTlsKeyStorePassword", "Its password."),
    _text("--tls-trust-certs-filepath", "brokerClientTrustCertsFilePath", "PEM: whom to trust."),
    _text("--tls-key-filepath", "brokerClientKeyFilePath", "PEM: the key."),
    _text("--tls-certs-filepath", "brokerClientCertificateFilePath", "PEM: the certificate."),
    _text("--tls-factory-plugin", "brokerClientSslFactoryPlugin", "A class of Java."),
    _text("--tls-factory-plugin-params", "brokerClientSslFactoryPluginParams", "What it takes."),
    _text("--listener-name", "listenerName", "The listener to connect to."),
    opt("--cluster-config-file", "", FILE, "All of it as YAML, by the keys of the API."),
)

CLUSTERS: Final[tuple[Verb, ...]] = (
    Verb(
        "list",
        "The clusters.",
        "GET",
        "clusters",
        (flag("-c --current", "", "Mark this one with (*)."),),
        run="list_clusters",
    ),
    Verb("get", "What a cluster is.", "GET", _HERE, (CLUSTER,)),
    Verb(
        "create",
        "Make a cluster known.",
        "PUT",
        _HERE,
        (CLUSTER, *_DATA),
        run="cluster_data",
        example="west --url http://west:8080 --broker-url pulsar://west:6650",
    ),
    Verb("update", "Change a cluster.", "POST", _HERE, (CLUSTER, *_DATA), run="cluster_data"),
    Verb(
        "delete",
        "Forget a cluster.",
        "DELETE",
        _HERE,
        (CLUSTER, flag("-a --all", "", "Not done: delete the tenants of it one by one.")),
        run="delete_cluster",
    ),
    Verb("get-peer-clusters", "Its peers.", "GET", f"{_HERE}/peers", (CLUSTER,)),
    Verb(
        "update-peer-clusters",
        "Set its peers.",
        "POST",
        f"{_HERE}/peers",
        (CLUSTER, need("--peer-clusters", "=", WORDS, 'Their names, commas between; "": none.')),
    ),
    Verb("get-cluster-migration", "Where it moved.", "GET", f"{_HERE}/migrate", (CLUSTER,)),
    Verb(
        "update-cluster-migration",
        "Say where it moved.",
        "POST",
        f"{_HERE}/migrate",
        (
            CLUSTER,
            flag("--migrated", "?migrated", "It has.", default=False),
            _text("--service-url", "serviceUrl", "The admin API there."),
            _text("--service-url-secure", "serviceUrlTls", "The same over TLS."),
            _text("--broker-url", "brokerServiceUrl", "The brokers there."),
            _text("--broker-url-secure", "brokerServiceUrlTls", "The same over TLS."),
        ),
        body={},
    ),
    Verb("list-failure-domains", "Its domains.", "GET", f"{_HERE}/failureDomains", (CLUSTER,)),
    Verb(
        "get-failure-domain",
        "The brokers of a domain.",
        "GET",
        f"{_HERE}/failureDomains/{{domain_name}}",
        (CLUSTER, _DOMAIN),
    ),
    *(
        Verb(
            f"{action}-failure-domain",
            about,
            "POST",
            f"{_HERE}/failureDomains/{{domain_name}}",
            (CLUSTER, _DOMAIN, _BROKERS),
            body={},
        )
        for action, about in (("create", "Create a domain."), ("update", "Change a domain."))
    ),
    Verb(
        "delete-failure-domain",
        "Delete a domain.",
        "DELETE",
        f"{_HERE}/failureDomains/{{domain_name}}",
        (CLUSTER, _DOMAIN),
    ),
)

_ISOLATION: Final = f"{_HERE}/namespaceIsolationPolicies"
_POLICY: Final = arg("policy", "{policy}")

ISOLATION: Final[tuple[Verb, ...]] = (
    Verb("list", "The policies of a cluster.", "GET", _ISOLATION, (CLUSTER,)),
    Verb("get", "A policy.", "GET", f"{_ISOLATION}/{{policy}}", (CLUSTER, _POLICY)),
    Verb(
        "set",
        "Create or change a policy.",
        "POST",
        f"{_ISOLATION}/{{policy}}",
        (
            CLUSTER,
            _POLICY,
            need("--namespaces", "namespaces", WORDS, "Patterns of namespaces, commas between."),
            need("--primary", "primary", WORDS, "Patterns of the brokers they are for."),
            opt("--secondary", "secondary", WORDS, "Patterns of brokers for when these fail.", []),
            need(
                "--auto-failover-policy-type",
                "policy_type",
                kinds.choice("min_available"),
                "min_available.",
            ),
            need(
                "--auto-failover-policy-params",
                "parameters",
                PAIRS,
                "min_limit=1,usage_threshold=80.",
            ),
            opt(
                "--unload-scope",
                "unload_scope",
                kinds.choice("all_matching", "none", "changed"),
                "Which namespaces are unloaded: all_matching, none or changed.",
            ),
        ),
        run="isolation_policy",
    ),
    Verb("delete", "Delete a policy.", "DELETE", f"{_ISOLATION}/{{policy}}", (CLUSTER, _POLICY)),
    Verb("brokers", "The policies of all brokers.", "GET", f"{_ISOLATION}/brokers", (CLUSTER,)),
    Verb(
        "broker",
        "The policies of a broker.",
        "GET",
        f"{_ISOLATION}/brokers/{{broker}}",
        (CLUSTER, need("--broker", "{broker}", TEXT, "The broker: host:8080.")),
    ),
)

_BOOKIE: Final = need("-b --bookie", "{bookie}", TEXT, "Its address: host:3181.")
_RACK: Final = "bookies/racks-info/{bookie}"

BOOKIES: Final[tuple[Verb, ...]] = (
    Verb("list-bookies", "The bookies.", "GET", "bookies/all"),
    Verb("racks-placement", "The racks of all bookies.", "GET", "bookies/racks-info"),
    Verb("get-bookie-rack", "The rack of a bookie.", "GET", _RACK, (_BOOKIE,)),
    Verb(
        "set-bookie-rack",
        "Say in which rack a bookie is.",
        "POST",
        _RACK,
        (
            _BOOKIE,
            need("-r --rack", "rack", TEXT, "The rack."),
            opt("-g --group", "?group", TEXT, "Its group.", "default"),
            opt("-hn --hostname", "hostname", TEXT, "The bookie's host."),
        ),
    ),
    Verb("delete-bookie-rack", "Forget the rack of a bookie.", "DELETE", _RACK, (_BOOKIE,)),
)
