"""What is answered in another way where a proxy is in front of two brokers (``BY_PROXY=2``)."""

_BOTH = "there are two brokers"
_ITS_OWN = "the proxy has a page of its own there, as Pulsar's"
_FOLLOWED = "the proxy follows the redirect, as Pulsar's"
_NOT_PASSED_ON = "a proxy passes on /admin and /lookup alone, as Pulsar's"
_LATER = "compaction has ended by then: what is asked by a proxy takes longer"

DIFFERENCES = {
    ("clusters", "iso_brokers"): _BOTH,
    ("brokers", "list"): _BOTH,
    ("brokers", "list_cluster"): _BOTH,
    ("brokers", "list_unknown_cluster"): _BOTH,
    ("brokers", "shutdown_wrong_method"): _BOTH,
    ("root", "v1_brokers"): _BOTH,
    ("root", "metrics_redirect"): _ITS_OWN,
    ("root", "admin"): _FOLLOWED,
    ("root", "admin_v2"): _FOLLOWED,
    ("root", "ws"): _NOT_PASSED_ON,
    ("root", "rest_produce"): _NOT_PASSED_ON,
    ("root", "rest_produce_schema"): _NOT_PASSED_ON,
    ("lifecycle", "compaction_trigger_again"): _LATER,
    ("lifecycle", "compaction_status_running"): _LATER,
    ("backlog_quota_effect", "stats_after_check"): "the broker that is asked checks its own topics",
}
