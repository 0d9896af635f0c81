import pytest

from magnetar.broker.handlers.names import topic_name
from magnetar.errors import InvalidName


def test_a_short_name_is_completed():
    assert str(topic_name("x")) == "persistent://public/default/x"


def test_a_bad_name_is_refused_in_the_words_clients_know():
    with pytest.raises(InvalidName) as refused:
        topic_name("persistent://public")
    assert str(refused.value) == "Invalid topic name: Invalid topic name: persistent://public"
