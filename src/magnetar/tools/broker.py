"""``magnetar broker``: a broker from a ``broker.conf``, in the foreground, as ``pulsar broker``."""

import os
from pathlib import Path

import click

from magnetar.errors import InvalidValue
from magnetar.tools.standalone import standalone


@click.command()
@click.option(
    "-c",
    "--broker-conf",
    "--conf",
    "conf",
    type=click.Path(path_type=Path),
    help="The configuration. [PULSAR_BROKER_CONF, conf/broker.conf]",
)
@click.option(
    "--ready-file", type=click.Path(path_type=Path), help="Write ports and pid here when ready."
)
@click.option("--until-eof", is_flag=True, help="Stop when standard input ends, as on SIGTERM.")
@click.option("--verbose", "-v", is_flag=True, help="Log connections and topics too.")
@click.pass_context
def broker(
    ctx: click.Context,
    *,
    conf: Path | None,
    ready_file: Path | None,
    until_eof: bool,
    verbose: bool,
) -> int:
    """Run the broker that a broker.conf describes. Ctrl-C stops it.

    With metadataStoreUrl its metadata are in that ZooKeeper and its ledgers at those bookies, which
    it shares with the other brokers of the cluster. Without it is the broker of `magnetar
    standalone`, with a folder of its own. `magnetar config show --conf broker.conf` says what
    becomes of every setting.

    Example: magnetar broker --broker-conf conf/broker.conf
    """
    file = conf or _found()
    code: int = ctx.invoke(
        standalone, conf=file, ready_file=ready_file, until_eof=until_eof, verbose=verbose
    )
    return code


def _found() -> Path:
    """The file where Pulsar has it. Raises InvalidValue."""
    named = os.environ.get("PULSAR_BROKER_CONF")
    if named:
        return Path(named)
    file = Path("conf") / "broker.conf"
    if not file.is_file():
        raise InvalidValue(
            "there is no conf/broker.conf here: name the file with --broker-conf, or start "
            "`magnetar standalone`, which needs none"
        )
    return file
