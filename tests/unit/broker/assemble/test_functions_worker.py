import pytest

from magnetar.broker.assemble.broker import running_broker
from magnetar.errors import InvalidValue
from magnetar.testing.local_broker import config_for

QUIET = {"webServicePort": -1}


async def test_functions_need_the_ports_without_tls():
    config = config_for(None, {**QUIET, "functionsWorkerEnabled": True})
    with pytest.raises(
        InvalidValue, match="functionsWorkerEnabled=true needs the ports without TLS"
    ):
        async with running_broker(config):
            pass
