"""The representative path goes the ways that were gone."""

from asmevo.backend.timing.trace import edge_executions, representative_path
from asmevo.frontend.parser import parse_source
from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.manager import AnalysisManager

TRIANGLE = """
a:
  s_cbranch_scc1 j
b:
  s_nop 0
j:
  s_cbranch_scc1 a
end:
  s_endpgm
"""


def flow_of(text):
    return AnalysisManager(parse_source(text)).get(Flow)


def test_counts_tell_how_often_each_way_was_taken():
    edges = edge_executions(flow_of(TRIANGLE), {"a": 10, "b": 9, "j": 10, "end": 2})
    assert edges == {("a", "j"): 1, ("a", "b"): 9, ("b", "j"): 9, ("j", "a"): 8, ("j", "end"): 2}


def test_a_branch_that_was_mostly_not_taken_is_not_taken():
    """Its target ran more often than the block behind the branch, but mostly through that block."""
    flow = flow_of(TRIANGLE)
    counts = {"a": 10, "b": 9, "j": 10, "end": 10}
    assert representative_path(flow, counts, 100)[:2] == ["a", "j"]
    assert representative_path(flow, counts, 100, edges=edge_executions(flow, counts))[:3] == ["a", "b", "j"]


def test_what_the_counts_leave_open_gets_the_lesser_of_its_blocks():
    """Two blocks between which either way leads over two edges."""
    text = """
    a:
      s_cbranch_scc1 d
    b:
      s_cbranch_scc1 d
    c:
      s_cbranch_scc1 e
    d:
      s_nop 0
    e:
      s_endpgm
    """
    edges = edge_executions(flow_of(text), {"a": 8, "b": 6, "c": 4, "d": 5, "e": 8})
    assert edges["a", "d"] == 2
    assert edges["b", "d"] == 2
    assert edges["c", "d"] == 1
    assert edges["c", "e"] == 3
    assert edges["d", "e"] == 5
