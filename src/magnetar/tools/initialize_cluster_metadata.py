"""``magnetar initialize-cluster-metadata``: what the brokers of a new cluster find in ZooKeeper."""

import asyncio

import click

from magnetar.broker.config import Config
from magnetar.errors import InvalidValue
from magnetar.extras import check_cluster


@click.command("initialize-cluster-metadata")
@click.option("-c", "--cluster", required=True, help="The name of the cluster.")
@click.option("-md", "--metadata-store", help="zk:host:2181,host:2181/path, as metadataStoreUrl.")
@click.option("-zk", "--zookeeper", help="The former name of --metadata-store.")
@click.option(
    "-cms", "--configuration-metadata-store", help="--metadata-store once more, if it is given."
)
@click.option("-cs", "--configuration-store", help="The former name of that.")
@click.option("-uw", "--web-service-url", required=True, help="http://host:8080 of the cluster.")
@click.option("-tw", "--web-service-url-tls", default="", help="The same with https.")
@click.option("-ub", "--broker-service-url", default="", help="pulsar://host:6650 of the cluster.")
@click.option("-tb", "--broker-service-url-tls", default="", help="The same with pulsar+ssl.")
@click.option(
    "-bm",
    "--existing-bk-metadata-service-uri",
    help="Where bookies are listed already: zk+hierarchical://host:2181/ledgers. [made new]",
)
@click.option(
    "-tc",
    "--initial-num-transaction-coordinators",
    default=16,
    show_default=True,
    type=click.IntRange(1),
    help="Coordinators of transactions.",
)
@click.option(
    "--default-namespace-bundle-number",
    default=4,
    show_default=True,
    type=click.IntRange(1),
    help="Bundles of public/default.",
)
@click.option(
    "--zookeeper-session-timeout-ms",
    default=30_000,
    show_default=True,
    type=click.IntRange(1000),
    help="Of this command's own session.",
)
def initialize_cluster_metadata(
    *,
    cluster: str,
    metadata_store: str | None,
    zookeeper: str | None,
    configuration_metadata_store: str | None,
    configuration_store: str | None,
    web_service_url: str,
    web_service_url_tls: str,
    broker_service_url: str,
    broker_service_url_tls: str,
    existing_bk_metadata_service_uri: str | None,
    initial_num_transaction_coordinators: int,
    default_namespace_bundle_number: int,
    zookeeper_session_timeout_ms: int,
) -> None:
    """Write what the brokers of a new cluster find in ZooKeeper.

    That is: where bookies are listed, the cluster with its addresses, the tenants public and
    pulsar, the namespaces public/default and pulsar/system, and how many coordinators of
    transactions there are. What is there already stays as it is.

    Example: magnetar initialize-cluster-metadata -c here -md zk:localhost:2181
    -uw http://localhost:8080 -ub pulsar://localhost:6650
    """
    url = metadata_store or zookeeper
    if not url:
        raise InvalidValue("say where ZooKeeper is: --metadata-store zk:host:2181")
    check_cluster()
    from magnetar.broker.assemble.new_cluster import initialize_cluster  # noqa: PLC0415 - kazoo

    config = Config.read(
        flags={
            "metadataStoreUrl": url,
            "configurationMetadataStoreUrl": configuration_metadata_store or configuration_store,
            "bookkeeperMetadataServiceUri": existing_bk_metadata_service_uri,
            "metadataStoreSessionTimeoutMillis": zookeeper_session_timeout_ms,
            "clusterName": cluster,
        }
    )
    urls = web_service_url, broker_service_url, web_service_url_tls, broker_service_url_tls
    asyncio.run(
        initialize_cluster(
            config,
            *urls,
            bundles=default_namespace_bundle_number,
            coordinators=initial_num_transaction_coordinators,
        )
    )
    click.echo(f"Cluster {cluster} is in {config.metadata.servers}")
