"""How often a broker looks after its topics."""

from magnetar.late_dataclass import dataclass

from .setting import setting


@dataclass(frozen=True, slots=True)
class HousekeepingSettings:
    """How often topics are looked after."""

    expiry_check_minutes: float = setting(
        "messageExpiryCheckIntervalInMinutes",
        5.0,
        "how often expired messages are looked for, in minutes; 0.1 is six seconds",
        minimum=0.001,
    )
    subscription_check_minutes: float = setting(
        "subscriptionExpiryCheckIntervalInMinutes",
        5.0,
        "the same for subscriptions that are not used",
        minimum=0.001,
    )
    backlog_check: bool = setting(
        "backlogQuotaCheckEnabled", True, "backlogs are compared with their quotas"
    )
    backlog_check_s: int = setting("backlogQuotaCheckIntervalInSeconds", 60, "how often", minimum=1)
    compaction_check_s: int = setting(
        "brokerServiceCompactionMonitorIntervalInSeconds",
        60,
        "how often topics are looked for that are to be compacted",
        minimum=1,
    )

    @property
    def expiry_check_s(self) -> float:
        return self.expiry_check_minutes * 60

    @property
    def subscription_check_s(self) -> float:
        return self.subscription_check_minutes * 60
