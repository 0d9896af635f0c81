from unit.broker.cluster.conftest import brokers

__all__ = ["brokers"]
