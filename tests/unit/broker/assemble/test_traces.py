import pytest
from support.collector import Collector

from magnetar.errors import InvalidValue
from magnetar.testing.local_broker import LocalBroker


async def test_a_variable_that_the_sdk_does_not_take_ends_the_start_in_a_line(monkeypatch):
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "-1")
        with pytest.raises(InvalidValue, match=r"variables OTEL_.*schedule_delay_millis"):
            async with LocalBroker(settings={"otelSdkDisabled": "false"}):
                pass
