"""What a role must be allowed to do before a route, or a command, does anything. Pure."""

from enum import Enum, auto


class Access(Enum):
    """What is asked of the role behind a request; its path says of which tenant, namespace, topic.

    What an entry does not say is refused: a route that names none asks for a superuser.
    """

    PUBLIC = auto()  # Nothing is asked, not even who it is.
    AUTHENTICATED = auto()  # Any role.
    SUPERUSER = auto()
    TENANT_ADMIN = auto()  # The policies and the topics of a tenant.
    NAMESPACE_TOPICS = auto()  # To see topics: produce or consume on the namespace.
    NAMESPACE_CONSUME = auto()
    LOOKUP = auto()  # To see a topic: produce or consume on it.
    PRODUCE = auto()
    CONSUME = auto()  # Where the path names a subscription, on that.
    FUNCTIONS = auto()
    SOURCES = auto()
    SINKS = auto()
    PACKAGES = auto()
