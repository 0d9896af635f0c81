"""How the brokers of a cluster share their load."""

from typing import Literal

from magnetar.late_dataclass import dataclass

from .setting import MIB, setting

SplitAlgorithm = Literal[
    "range_equally_divide", "topic_count_equally_divide", "flow_or_qps_equally_divide"
]


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """When bundles are placed, moved and split by load. A broker that is alone does none of it."""

    enabled: bool = setting(
        "loadBalancerEnabled",
        True,
        "bundles of a cluster are placed, moved and split by load",
    )
    placement: Literal[
        "LeastLongTermMessageRate",
        "LeastResourceUsageWithWeight",
        "org.apache.pulsar.broker.loadbalance.impl.LeastLongTermMessageRate",
        "org.apache.pulsar.broker.loadbalance.impl.LeastResourceUsageWithWeight",
    ] = setting(
        "loadBalancerLoadPlacementStrategy",
        "LeastLongTermMessageRate",
        "which broker takes a bundle that nobody serves",
    )
    shedding: bool = setting("loadBalancerSheddingEnabled", True, "bundles leave busy brokers")
    shedding_minutes: float = setting(
        "loadBalancerSheddingIntervalMinutes", 1.0, "how often that is looked at", minimum=0.001
    )
    grace_minutes: float = setting(
        "loadBalancerSheddingGracePeriodMinutes", 30.0, "a bundle that was moved stays so long"
    )
    threshold_percent: float = setting(
        "loadBalancerBrokerThresholdShedderPercentage",
        10.0,
        "how far above the mean of all brokers a broker sheds",
    )
    overloaded_percent: float = setting(
        "loadBalancerBrokerOverloadedThresholdPercentage",
        85.0,
        "a broker with more usage is given bundles only where all have",
    )
    history: float = setting(
        "loadBalancerHistoryResourcePercentage",
        0.9,
        "how much of a broker's usage is what it was before",
        maximum=1,
    )
    min_throughput_mb: float = setting(
        "loadBalancerBundleUnloadMinThroughputThreshold",
        10.0,
        "MB a second; a broker that would shed less sheds nothing",
    )
    lower_boundary: bool = setting(
        "lowerBoundarySheddingEnabled",
        False,
        "the busiest broker sheds where another is far below the mean",
    )
    cpu_weight: float = setting("loadBalancerCPUResourceWeight", 1.0, "how much CPU counts")
    memory_weight: float = setting("loadBalancerMemoryResourceWeight", 0.0, "the same for memory")
    bandwidth_in_weight: float = setting(
        "loadBalancerBandwidthInResourceWeight", 1.0, "the same for bandwidth, where nic speed is"
    )
    bandwidth_out_weight: float = setting(
        "loadBalancerBandwidthOutResourceWeight", 1.0, "the same, of what goes out"
    )
    nic_gbps: float = setting(
        "loadBalancerOverrideBrokerNicSpeedGbps", 0.0, "nic speed; 0: bandwidth does not count"
    )
    usage_check_minutes: float = setting(
        "loadBalancerHostUsageCheckIntervalMinutes",
        1.0,
        "how often a broker looks at its load",
        minimum=0.001,
    )
    report_percent: float = setting(
        "loadBalancerReportUpdateThresholdPercentage",
        10.0,
        "a report is written when a number differs so much from the last one",
    )
    report_max_minutes: float = setting(
        "loadBalancerReportUpdateMaxIntervalMinutes", 15.0, "and so often anyway"
    )
    auto_split: bool = setting(
        "loadBalancerAutoBundleSplitEnabled", True, "bundles that have too much are split"
    )
    unload_split: bool = setting(
        "loadBalancerAutoUnloadSplitBundlesEnabled", True, "the parts are placed anew"
    )
    split_topics: int = setting("loadBalancerNamespaceBundleMaxTopics", 1000, "of one bundle")
    split_sessions: int = setting(
        "loadBalancerNamespaceBundleMaxSessions", 1000, "producers and consumers of one bundle"
    )
    split_messages: int = setting(
        "loadBalancerNamespaceBundleMaxMsgRate", 30_000, "messages a second, in and out"
    )
    split_mb: int = setting("loadBalancerNamespaceBundleMaxBandwidthMbytes", 100, "MB a second")
    bundles_max: int = setting(
        "loadBalancerNamespaceMaximumBundles", 128, "no namespace is split into more of itself"
    )
    split_hits: int = setting(
        "loadBalancerNamespaceBundleSplitConditionHitCountThreshold",
        3,
        "a bundle has had too much so many looks running",
        minimum=1,
    )
    splits_max: int = setting(
        "loadBalancerMaxNumberOfBundlesToSplitPerCycle", 10, "bundles split at one look", minimum=1
    )
    split_algorithm: SplitAlgorithm = setting(
        "defaultNamespaceBundleSplitAlgorithm", "range_equally_divide", "how they are split"
    )

    @property
    def by_usage(self) -> bool:
        """Whether bundles are placed by usage, and not by messages."""
        return self.placement.endswith("LeastResourceUsageWithWeight")

    @property
    def min_bytes(self) -> float:
        return self.min_throughput_mb * MIB
