"""What the suite's kernels compute, in NumPy, and how far a right result may lie from it (`rounded`)."""

from __future__ import annotations

from bench.suite.entries import entries
from bench.suite.references import elements, pipelines, serving
from examples.references import Reference

_BY_LEVEL = {"level1": elements, "level2": pipelines, "serving": serving}


def reference(name: str) -> Reference:
    """The reference of a kernel: the function of its name in its level's module."""
    found: Reference = getattr(_BY_LEVEL[entries()[name].level], name)
    return found
