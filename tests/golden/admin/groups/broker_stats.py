"""Figures of a broker."""

from support.on_cluster import on_cluster

BEFORE = {}
DIFFERENCES = {}
if on_cluster():
    DIFFERENCES["load_report"] = "brokers of a cluster share their load, and one alone does not"
