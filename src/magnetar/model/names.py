"""Names of tenants, namespaces, topics and partitions: parsing and printing. Pure.

Rules and error texts are those of Apache Pulsar 4.0.7, except ``flaw``, which is our own and holds
for every name.
"""

import re
import sys
from functools import lru_cache

from magnetar.errors import InvalidName
from magnetar.late_dataclass import dataclass

PERSISTENT = "persistent"
NON_PERSISTENT = "non-persistent"
DOMAINS = (PERSISTENT, NON_PERSISTENT)
NAME_LENGTH_MAX = 1024  # Names are cached, logged and stored.
PARTITION_MARK = "-partition-"
PARTITION_MAX = 2**31 - 1  # The protocol has no larger index, so that a larger one is none.

_ENTITY = re.compile(r"[-=:.\w]+")
_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f"
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # They turn the text around them.
    r"\u2028\u2029]"  # They end a line.
)


def flaw(name: str) -> str | None:
    """The fault of a name of any kind: its length, or a control character. None: it has none."""
    if len(name) > NAME_LENGTH_MAX:
        return f"{len(name)} characters, at most {NAME_LENGTH_MAX} are taken"
    if (found := _CONTROL.search(name)) is not None:
        return f"control characters are not taken, such as U+{ord(found[0]):04X}"
    return None


def _check_flaw(name: str) -> None:
    if (found := flaw(name)) is not None:
        raise InvalidName(found)


def check_entity(name: str) -> str:
    """Return the name of a tenant, namespace or cluster. Raises InvalidName."""
    _check_flaw(name)
    if not _ENTITY.fullmatch(name):
        raise InvalidName(f"Invalid named entity: {name}")
    return name


@dataclass(frozen=True, slots=True)
class NamespaceName:
    """``tenant/namespace``."""

    tenant: str
    local: str

    def __str__(self) -> str:
        return f"{self.tenant}/{self.local}"

    @staticmethod
    def parse(text: str) -> "NamespaceName":
        parts = text.split("/")
        if len(parts) != 2:
            raise InvalidName(f"Invalid namespace format. namespace: {text}")
        return NamespaceName(check_entity(parts[0]), check_entity(parts[1]))


@dataclass(frozen=True, slots=True)
class TopicName:
    """``{persistent|non-persistent}://tenant/namespace/local``."""

    domain: str
    tenant: str
    namespace_local: str
    local: str

    def __str__(self) -> str:
        return f"{self.domain}://{self.tenant}/{self.namespace_local}/{self.local}"

    @property
    def persistent(self) -> bool:
        return self.domain == PERSISTENT

    @property
    def namespace(self) -> NamespaceName:
        return NamespaceName(self.tenant, self.namespace_local)

    @property
    def partition_index(self) -> int:
        """The decimal after the last ``-partition-``; -1 where there is none."""
        _, mark, digits = self.local.rpartition(PARTITION_MARK)
        if not mark or not digits.isascii() or not digits.isdecimal():
            return -1
        if len(digits) > len(str(PARTITION_MAX)):  # int() refuses very long ones, too.
            return -1
        index = int(digits)
        return index if str(index) == digits and index <= PARTITION_MAX else -1

    @property
    def partitioned_name(self) -> "TopicName":
        """The topic that this is a partition of; itself where it is no partition."""
        if self.partition_index < 0:
            return self
        local = self.local.rpartition(PARTITION_MARK)[0]
        return TopicName(self.domain, self.tenant, self.namespace_local, local)

    def partition(self, index: int) -> "TopicName":
        local = f"{self.local}{PARTITION_MARK}{index}"
        return TopicName(self.domain, self.tenant, self.namespace_local, local)

    @staticmethod
    @lru_cache(maxsize=10_000)
    def parse(text: str) -> "TopicName":
        """``x``, ``tenant/namespace/x`` or ``domain://tenant/namespace/x``. Raises InvalidName."""
        _check_flaw(text)
        domain, separator, rest = text.partition("://")
        if not separator:
            domain, rest = PERSISTENT, text
            parts = rest.split("/")
            if len(parts) == 1 and rest:
                parts = ["public", "default", rest]
            if len(parts) != 3:
                raise InvalidName(
                    f"Invalid short topic name '{text}', it should be in the format of "
                    "<tenant>/<namespace>/<topic> or <topic>"
                )
        else:
            if domain not in DOMAINS:
                raise InvalidName(f"Invalid topic domain: '{domain}'")
            parts = rest.split("/", 2)
            if len(parts) != 3:
                raise InvalidName(f"Invalid topic name: {text}")
        tenant, namespace, local = parts
        check_entity(tenant)
        check_entity(namespace)
        if not local.strip():
            raise InvalidName(f"Invalid topic name: {text}. Topic local name must not be blank.")
        # Thousands of topics have these three in common.
        domain, tenant, namespace = sys.intern(domain), sys.intern(tenant), sys.intern(namespace)
        name = TopicName(domain, tenant, namespace, local)
        _check_flaw(str(name))  # The full name is longer than a short form.
        return name
