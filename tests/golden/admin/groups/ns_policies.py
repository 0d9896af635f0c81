"""ns_policies"""

from golden.admin.groups.shared import NO_ALIYUN, NOT_OURS

NO_REPLICATION = "nothing is replicated to another cluster yet, so it is refused"
SAYS_ELSEWHERE = "it is the namespace that does not exist, as for every other policy"

LEFT_OUT = "Pulsar leaves out the namespace, which is in the group"

BEFORE = {}
DIFFERENCES = {
    "unsubscribe_unknown_ns": "a namespace that does not exist is named",
    'subscriptionAuthMode.set_bad_"Zzz"': (
        "a mode that there is not is refused: it would open subscriptions"
    ),
    "antiAffinity.list": LEFT_OUT,
    "antiAffinity.list_later": LEFT_OUT,
    'offloadPolicies.set_bad_{"managedLedgerOffloadDriver": "nope"}': NO_ALIYUN,
    "offloadPolicies.set_bad_{}": NO_ALIYUN,
    'subscriptionTypesEnabled.set_bad_["Zzz"]': NOT_OURS,
    "scanOffloadedLedgers": NOT_OURS,
    "policies_after_all": "an action that there is not was refused before, and is not stored",
}
