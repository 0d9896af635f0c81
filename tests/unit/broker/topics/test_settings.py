from magnetar.broker.config import Config
from magnetar.broker.topics.settings import TopicSettings


def test_a_brokers_settings_of_topics_are_used_as_they_are():
    read = Config.read(environment={"MAGNETAR_ACTIVE_CONSUMER_FAILOVER_DELAY_TIME_MILLIS": "250"})
    assert read.topics == TopicSettings(failover_delay_ms=250)
    assert read.topics.failover_delay_s == 0.25
