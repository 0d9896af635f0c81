import pytest

from magnetar.errors import InvalidValue
from magnetar.model.resource_groups import ResourceGroup

STORED = {"publishRateInMsgs": 1, "dispatchRateInBytes": 4}


def test_a_group_is_read_and_written_by_pulsars_names():
    group = ResourceGroup.from_json(STORED)
    assert group == ResourceGroup(publish_messages=1, dispatch_bytes=4)
    assert group.to_json() == STORED
    with pytest.raises(InvalidValue, match="publishRateInMsgs"):
        ResourceGroup.from_json({"publishRateInMsgs": "many"})


def test_a_change_keeps_the_limits_it_does_not_name():
    changed = ResourceGroup(1, 2, 3).changed_by(ResourceGroup(publish_bytes=5, dispatch_bytes=6))
    assert changed == ResourceGroup(1, 5, 3, 6)
