"""What a function may ask and do while it processes a message."""

from collections.abc import Callable, Mapping


class Context:
    """The interface; whoever runs functions implements it."""

    def get_message_id(self) -> object:
        """The id of the message being processed."""

    def get_message_key(self) -> object:
        """Its key."""

    def get_message_eventtime(self) -> object:
        """Its event time."""

    def get_message_properties(self) -> object:
        """Its properties."""

    def get_current_message_topic_name(self) -> object:
        """The topic it comes from."""

    def get_function_tenant(self) -> object:
        """The tenant of the function."""

    def get_function_namespace(self) -> object:
        """The namespace of the function."""

    def get_function_name(self) -> object:
        """The name of the function."""

    def get_function_id(self) -> object:
        """The id of the function."""

    def get_instance_id(self) -> object:
        """The id of the instance that runs it."""

    def get_function_version(self) -> object:
        """The version of the function."""

    def get_logger(self) -> object:
        """A logger for the function."""

    def get_user_config_value(self, key: str) -> object:
        """A setting of the user; None when there is none."""

    def get_user_config_map(self) -> object:
        """All settings of the user."""

    def get_secret(self, secret_name: str) -> object:
        """A secret; None when there is none."""

    def get_partition_key(self) -> object:
        """The key of the message, if it has one."""

    def get_ordering_key(self) -> object:
        """The ordering key of the message, if it has one."""

    def record_metric(self, metric_name: str, metric_value: float) -> object:
        """Record a number."""

    def publish(
        self,
        topic_name: str,
        message: object,
        serde_class_name: str = "serde.IdentitySerDe",
        properties: Mapping[str, str] | None = None,
        compression_type: object = None,
        callback: Callable[..., object] | None = None,
        message_conf: Mapping[str, object] | None = None,
    ) -> object:
        """Publish a message to a topic, serialized by the class that is named."""

    def get_input_topics(self) -> object:
        """The topics it reads."""

    def get_output_topic(self) -> object:
        """The topic it writes to."""

    def get_output_serde_class_name(self) -> object:
        """How its output is serialized."""

    def ack(self, msgid: object, topic: str) -> object:
        """Acknowledge a message."""

    def incr_counter(self, key: str, amount: int) -> object:
        """Add to a counter of its state."""

    def get_counter(self, key: str) -> object:
        """A counter of its state."""

    def del_counter(self, key: str) -> object:
        """Delete a counter of its state."""

    def put_state(self, key: str, value: object) -> object:
        """Set a value of its state."""

    def get_state(self, key: str) -> object:
        """A value of its state."""
