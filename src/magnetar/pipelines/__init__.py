"""Declared pipelines: sources, transforms of DataFrames, sinks, with checks of quality."""
