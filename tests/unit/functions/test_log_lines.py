from support.functions import configured

from magnetar.functions.log_lines import LINES_PENDING_MAX, LogLines, logger_of


def test_lines_become_messages_of_the_log_topic():
    config = configured("Double", logTopic="logs")
    lines = LogLines(config, 3)
    logger_of(config, 3, lines).warning("got %s", 5)
    (sent,) = lines.messages()
    assert sent.topic == "logs"
    assert sent.message.value.endswith(b"[WARNING] public/default/double-3: got 5")
    told = {"loglevel": "WARNING", "fqn": "public/default/double", "instance": "3"}
    assert sent.message.properties == told
    assert lines.messages() == []


def test_lines_below_the_level_are_left_out():
    config = configured("Double", logTopic="logs", logLevel="ERROR")
    lines = LogLines(config, 0)
    logger = logger_of(config, 0, lines)
    logger.warning("no")
    logger.error("yes")
    assert len(lines.lines()) == 1


def test_without_a_log_topic_nothing_is_sent():
    config = configured("Double")
    lines = LogLines(config, 0)
    logger_of(config, 0, lines).warning("hello")
    assert lines.messages() == []


def test_beyond_the_limit_lines_are_dropped_and_counted():
    config = configured("Double", logTopic="logs")
    lines = LogLines(config, 0)
    logger = logger_of(config, 0, lines)
    for _ in range(LINES_PENDING_MAX + 2):
        logger.info("again")
    told = lines.lines()
    assert len(told) == LINES_PENDING_MAX + 1
    assert told[-1] == "2 lines more were dropped"
