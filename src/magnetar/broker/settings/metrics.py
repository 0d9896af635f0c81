"""The settings of metrics and stats."""

from magnetar.late_dataclass import dataclass

from .setting import setting


@dataclass(frozen=True, slots=True)
class MetricSettings:
    """What is exposed, and how often rates are found."""

    topics: bool = setting(
        "exposeTopicLevelMetricsInPrometheus",
        True,
        "metrics of each topic and subscription; false: sums of each namespace",
    )
    topics_max: int = setting(
        "topicLevelMetricsTopicsMax",
        20_000,
        "a broker with more open topics tells sums of each namespace; 0: no limit",
        minimum=0,
    )
    consumers: bool = setting(
        "exposeConsumerLevelMetricsInPrometheus", False, "metrics of each consumer"
    )
    producers: bool = setting(
        "exposeProducerLevelMetricsInPrometheus", False, "metrics of each producer"
    )
    managed_ledgers: bool = setting(
        "exposeManagedLedgerMetricsInPrometheus", True, "metrics pulsar_ml_* of each namespace"
    )
    split_partition: bool = setting(
        "splitTopicAndPartitionLabelInPrometheus",
        False,
        "partitions have the label topic of their partitioned topic, and a label partition",
    )
    publishers: bool = setting("exposePublisherStats", True, "stats of topics list publishers")
    buffer: bool = setting(
        "metricsBufferResponse",
        False,
        "metrics are made once in statsUpdateFrequencyInSecs, and told again until then",
    )
    interval_s: int = setting(
        "statsUpdateFrequencyInSecs",
        60,
        "how often the rates in stats and metrics are found",
        minimum=1,
    )
    status_file: str = setting(
        "statusFilePath",
        "",
        "/status.html answers OK while this file exists; empty: it is not there",
    )
