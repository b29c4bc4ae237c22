import pytest

from asmevo.frontend.parser import parse_source
from asmevo.ir.cfg import build_cfg, predecessors, reachable
from asmevo.ir.kernel import Block, Kernel

SOURCE = """
k:
 s_cbranch_scc0 next
next:
 s_cbranch_scc1 k
 s_endpgm
dead:
 s_branch next
"""


def test_nodes_and_edges() -> None:
    kernel = parse_source(SOURCE)
    graph = build_cfg(kernel)
    assert list(graph) == ["k", "next", "B_2", "dead"]
    assert {(a, b): kind for a, b, kind in graph.edges(data="kind")} == {
        ("k", "next"): "both",
        ("next", "k"): "branch",
        ("next", "B_2"): "fall",
        ("dead", "next"): "branch",
    }
    assert [label for label, is_root in graph.nodes(data="is_root") if is_root] == ["k"]
    assert graph.nodes["dead"]["block"] is kernel.block("dead")


def test_reachable_and_predecessors() -> None:
    kernel = parse_source(SOURCE)
    assert reachable(kernel) == {"k", "next", "B_2"}
    assert predecessors(kernel) == {"k": ("next",), "next": ("k", "dead"), "B_2": ("next",), "dead": ()}


def test_a_successor_that_is_no_block_is_refused() -> None:
    with pytest.raises(KeyError):
        build_cfg(Kernel("k", "gfx942", (Block("a", (), ("b",)),), ("a",)))
