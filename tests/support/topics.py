"""Topics that tests begin with."""

from magnetar.client.admin_api import AdminApi, topic_path


def create_partitioned_topic(web_url, topic, partitions):
    """Create ``topic`` with so many partitions."""
    AdminApi(web_url).send("PUT", f"/admin/v2/{topic_path(str(topic))}/partitions", partitions)
