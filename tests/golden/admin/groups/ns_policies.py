"""ns_policies"""

from golden.admin.groups.shared import NOT_OURS, NOT_YET

NO_REPLICATION = "nothing is replicated to another cluster yet, so it is refused"
SAYS_ELSEWHERE = "it is the namespace that does not exist, as for every other policy"

BEFORE = {}
DIFFERENCES = {
    'subscriptionAuthMode.set_bad_"Zzz"': (
        "a mode that there is not is refused: it would open subscriptions"
    ),
    "persistence.bookieAffinity.get_default": NOT_YET,
    "persistence.bookieAffinity.set": NOT_YET,
    "persistence.bookieAffinity.get_set": NOT_YET,
    "persistence.bookieAffinity.set_bad_{}": NOT_YET,
    "persistence.bookieAffinity.get_after_bad": NOT_YET,
    "persistence.bookieAffinity.delete": NOT_YET,
    "persistence.bookieAffinity.get_after_delete": NOT_YET,
    "persistence.bookieAffinity.get_unknown_ns": NOT_YET,
    "antiAffinity.get_default": NOT_YET,
    "antiAffinity.set": NOT_YET,
    "antiAffinity.get_set": NOT_YET,
    'antiAffinity.set_bad_""': NOT_YET,
    "antiAffinity.get_after_bad": NOT_YET,
    "antiAffinity.delete": NOT_YET,
    "antiAffinity.get_after_delete": NOT_YET,
    "antiAffinity.get_unknown_ns": NOT_YET,
    "antiAffinity.set2": NOT_YET,
    "antiAffinity.list": NOT_YET,
    "antiAffinity.list_later": NOT_YET,
    "antiAffinity.list_unknown": NOT_YET,
    "antiAffinity.raw": NOT_YET,
    "antiAffinity.get_raw": NOT_YET,
    "antiAffinity.delete2": NOT_YET,
    'offloadPolicies.set_bad_{"managedLedgerOffloadDriver": "nope"}': NOT_YET,
    "offloadPolicies.set_bad_{}": NOT_YET,
    'subscriptionTypesEnabled.set_bad_["Zzz"]': NOT_OURS,
    "properties.get_default": NOT_YET,
    "properties.set": NOT_YET,
    "properties.merge": NOT_YET,
    "properties.get": NOT_YET,
    "property.get": NOT_YET,
    "property.get_unknown": NOT_YET,
    "property.put": NOT_YET,
    "property.delete": NOT_YET,
    "property.delete_unknown": NOT_YET,
    "properties.get2": NOT_YET,
    "properties.clear": NOT_YET,
    "properties.get3": NOT_YET,
    "properties.bad": NOT_YET,
    "scanOffloadedLedgers": NOT_YET,
    "migration": NOT_YET,
    "migration_off": NOT_YET,
    "policies_after_all": NOT_YET,
    "clearBacklog_sub": NOT_YET,
    "bundle_clearBacklog": NOT_YET,
    "bundle_clearBacklog_sub": NOT_YET,
    "bundle_unsubscribe": NOT_YET,
    "unsubscribe_unknown_ns": NOT_YET,
}
