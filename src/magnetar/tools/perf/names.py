"""The names of the topics under load. Pure."""

import re


def names_of(topic: str, count: int) -> list[str]:
    """As pulsar-perf names them; of a topic with its number the first is that one."""
    if count == 1:
        return [topic]
    return [f"{re.sub(r'-$', '', topic)}-{index}" for index in range(count)]
