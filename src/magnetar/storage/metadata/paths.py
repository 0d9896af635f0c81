"""Where every record lives in the metadata store. Pure.

    /admin/clusters/{cluster}                                          ClusterData
    /admin/policies/{tenant}                                           TenantInfo
    /admin/policies/{tenant}/{namespace}                               NamespacePolicies
    /admin/local-policies/{tenant}/{namespace}                         what the cluster alone needs
    /admin/cluster-policies/{cluster}                                  whether it has moved
    /admin/failure-domains/{cluster}                                   its failure domains
    /admin/isolation-policies/{cluster}                                its isolation policies
    /bookies                                                           their racks, by group
    /admin/resource-quotas                                             the default, and of bundles
    /admin/configuration                                               the dynamic settings
    /admin/partitioned-topics/{tenant}/{namespace}/{domain}/{local}    PartitionedTopicMetadata
    /admin/topic-policies/{scope}/{tenant}/{namespace}/{domain}/{local}    TopicPolicies
    /admin/resourcegroups/{name}                                       ResourceGroup
    /managed-ledgers/{tenant}/{namespace}/{domain}/{local}             a managed ledger
    /managed-ledgers/{tenant}/{namespace}/{domain}/{local}/{cursor}    one of its cursors
    /schemas/{tenant}/{namespace}/{local}                              where its versions are, or
    /schemas/{tenant}/{namespace}/{local}/{number}                     a version of a topic's schema
    /change-events/{tenant}/{namespace}/{local}                        how far such a topic goes
    /topic-deletions/{topic}                                           a deletion under way
    /namespace/{tenant}/{namespace}/{range}                            the broker of a bundle
    /loadbalance/brokers/{host:port}                                   a broker that runs
    /loadbalance/reports/{host:port}                                   the load of a broker
    /loadbalance/leader                                                the broker that leads
    /loadbalance/transfer-{bundle}                                     the broker that takes it next

    /counters/starts                                                   its version counts starts

Local names and cursor names are encoded as Java's ``URLEncoder`` does, so that each is one segment
whatever it contains, and Pulsar's brokers find it. The partitions of a topic share its schema and
its policies. The scope of policies is ``local`` to this cluster or ``global``.
"""

from urllib.parse import quote_plus, unquote_plus

from magnetar.model.bundles import Bundle
from magnetar.model.names import NamespaceName, TopicName

ADMIN = "/admin"
CLUSTERS = "/admin/clusters"
TENANTS = "/admin/policies"
PARTITIONED_TOPICS = "/admin/partitioned-topics"
LOCAL_POLICIES = "/admin/local-policies"
CLUSTER_POLICIES = "/admin/cluster-policies"
FAILURE_DOMAINS = "/admin/failure-domains"
ISOLATION_POLICIES = "/admin/isolation-policies"
BOOKIES = "/bookies"
RESOURCE_QUOTAS = "/admin/resource-quotas"
CONFIGURATION = "/admin/configuration"
RESOURCE_GROUPS = "/admin/resourcegroups"
TOPIC_POLICIES = "/admin/topic-policies"
LOCAL = "local"
GLOBAL = "global"
MANAGED_LEDGERS = "/managed-ledgers"
MANAGED_LEDGER_DEPTH = 4  # The names of a managed ledger: tenant, namespace, domain, topic.
CHANGE_EVENTS = "/change-events"
DELETIONS = "/topic-deletions"
SCHEMAS = "/schemas"
STARTS = "/counters/starts"
BUNDLE_OWNERS = "/namespace"
LOAD_BALANCE = "/loadbalance"
BROKERS = "/loadbalance/brokers"
LEADER = "/loadbalance/leader"
LOAD_REPORTS = "/loadbalance/reports"


def cluster(name: str) -> str:
    return f"{CLUSTERS}/{name}"


def resource_group(name: str) -> str:
    return f"{RESOURCE_GROUPS}/{name}"


def tenant(name: str) -> str:
    """Return the path of a tenant, whose children are its namespaces."""
    return f"{TENANTS}/{name}"


def namespace(name: NamespaceName) -> str:
    return f"{TENANTS}/{name.tenant}/{name.local}"


def local_policies(name: NamespaceName) -> str:
    return f"{LOCAL_POLICIES}/{name.tenant}/{name.local}"


def cluster_policies(cluster: str) -> str:
    return f"{CLUSTER_POLICIES}/{cluster}"


def failure_domains(cluster: str) -> str:
    return f"{FAILURE_DOMAINS}/{cluster}"


def isolation_policies(cluster: str) -> str:
    return f"{ISOLATION_POLICIES}/{cluster}"


def namespace_at(path: str) -> NamespaceName | None:
    """Return the namespace whose record is at ``path``; None for another record."""
    tenant, _, local = path.removeprefix(f"{TENANTS}/").partition("/")
    return NamespaceName(tenant, local) if tenant and local else None


def partitioned_topics(name: NamespaceName, domain: str) -> str:
    """Return the path whose children are a namespace's partitioned topics."""
    return f"{PARTITIONED_TOPICS}/{name.tenant}/{name.local}/{domain}"


def partitioned_topic(topic: TopicName) -> str:
    return f"{partitioned_topics(topic.namespace, topic.domain)}/{encode(topic.local)}"


def topics_with_policies(scope: str, name: NamespaceName, domain: str) -> str:
    """Return the path whose children are the topics of a namespace with policies of their own."""
    return f"{TOPIC_POLICIES}/{scope}/{name.tenant}/{name.local}/{domain}"


def topic_policies(scope: str, topic: TopicName) -> str:
    return f"{topics_with_policies(scope, topic.namespace, topic.domain)}/{encode(topic.local)}"


def topic_with_policies_at(path: str) -> TopicName | None:
    """Return the topic whose policies are at ``path``; None for another record."""
    parts = path.removeprefix(f"{TOPIC_POLICIES}/").split("/")
    if len(parts) != 5:
        return None
    _, tenant, namespace, domain, local = parts
    return TopicName(domain, tenant, namespace, decode(local))


def change_events(topic: TopicName) -> str:
    """Return the path of the record how far a topic of events goes."""
    return f"{CHANGE_EVENTS}/{topic.tenant}/{topic.namespace_local}/{encode(topic.local)}"


def change_events_at(path: str) -> NamespaceName | None:
    """Return the namespace whose events the record at ``path`` is about; None for another."""
    parts = path.removeprefix(f"{CHANGE_EVENTS}/").split("/")
    return NamespaceName(parts[0], parts[1]) if len(parts) == 3 else None


def managed_ledgers(name: NamespaceName, domain: str) -> str:
    """Return the path whose children are the managed ledgers of a namespace's topics."""
    return f"{MANAGED_LEDGERS}/{name.tenant}/{name.local}/{domain}"


def managed_ledger_name(topic: TopicName) -> str:
    """Return the name of a topic's managed ledger: ``tenant/namespace/domain/local``, encoded."""
    return f"{topic.tenant}/{topic.namespace_local}/{topic.domain}/{encode(topic.local)}"


def managed_ledger(name: str) -> str:
    """Return the path of a managed ledger, whose children are its durable cursors."""
    return f"{MANAGED_LEDGERS}/{name}"


def cursor(managed_ledger_name: str, cursor_name: str) -> str:
    return f"{MANAGED_LEDGERS}/{managed_ledger_name}/{encode(cursor_name)}"


def schemas(topic: TopicName) -> str:
    """Return the path of a topic's schema, or whose children are the versions of it."""
    local = topic.partitioned_name.local
    return f"{SCHEMAS}/{topic.tenant}/{topic.namespace_local}/{encode(local)}"


def schema(topic: TopicName, number: int) -> str:
    return f"{schemas(topic)}/{number}"


def deletion(topic: TopicName) -> str:
    """Return the path of the note that a topic is being deleted."""
    return f"{DELETIONS}/{encode(str(topic))}"


def bundle_owner(bundle: Bundle) -> str:
    """Return the path of the lease of a bundle."""
    return f"{BUNDLE_OWNERS}/{bundle}"


def bundle_owned_at(path: str) -> Bundle:
    """Return the bundle whose lease is at ``path``."""
    tenant, local, bounds = path.removeprefix(f"{BUNDLE_OWNERS}/").split("/")
    low, high = (int(bound, 16) for bound in bounds.split("_"))
    return Bundle(NamespaceName(tenant, local), low, high)


def transfer(bundle: Bundle) -> str:
    """Return the path of the note which broker takes a bundle next."""
    return f"{LOAD_BALANCE}/transfer-{encode(str(bundle))}"


def broker(name: str) -> str:
    """Return the path of the record that a broker runs."""
    return f"{BROKERS}/{encode(name)}"


def load_report(name: str) -> str:
    """Return the path of what a broker says of its load."""
    return f"{LOAD_REPORTS}/{encode(name)}"


def encode(name: str) -> str:
    """Make any name one segment of a path."""
    return quote_plus(name, safe="*").replace("~", "%7E")


def decode(segment: str) -> str:
    """Return the name that ``encode`` made a segment of."""
    return unquote_plus(segment)
