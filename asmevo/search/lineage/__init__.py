"""The lineage: every attempt and every accepted candidate of every search, kept in a folder that survives being killed."""

from asmevo.search.lineage.records import Node, Run, Tried
from asmevo.search.lineage.store import Lineage

__all__ = ["Lineage", "Node", "Run", "Tried"]
