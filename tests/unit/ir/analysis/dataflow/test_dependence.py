"""Which pairs must keep their order, and which need not."""

import pytest

from asmevo.frontend.parser import parse_line
from asmevo.ir.analysis.dataflow.dependence import DependenceGraph, Kind


def edges(*lines, pending=None):
    window = [parse_line(line) for line in lines]
    graph = DependenceGraph.of(window) if pending is None else DependenceGraph.of(window, pending)
    return {(edge.source, edge.target): edge.kind for edge in graph.edges}


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("v_mov_b32_e32 v1, v0", "v_mov_b32_e32 v2, v1", Kind.RAW),
        ("v_mov_b32_e32 v2, v1", "v_mov_b32_e32 v1, v0", Kind.WAR),
        ("v_mov_b32_e32 v1, v0", "v_mov_b32_e32 v1, v2", Kind.WAW),
        ("s_cmp_eq_u32 s0, s1", "s_cselect_b32 s2, s3, s4", Kind.RAW),
        ("s_mov_b64 exec, s[0:1]", "v_mov_b32_e32 v1, v0", Kind.RAW),
        ("s_mov_b32 m0, s1", "buffer_load_dword v0, s[4:7], 0 offen lds", Kind.RAW),
        ("ds_write_b32 v0, v1", "ds_read_b32 v2, v3", Kind.MEM),
        ("ds_write_b32 v0, v1", "ds_write_b32 v0, v1 offset:64", Kind.MEM),
        ("global_store_dword v0, v1, s[0:1]", "buffer_load_dword v2, v3, s[4:7], 0 offen", Kind.MEM),
        ("buffer_load_dword v0, s[4:7], 0 offen lds", "ds_read_b32 v2, v3", Kind.MEM),
        ("buffer_load_dword v0, s[4:7], 0 offen lds", "global_store_dword v0, v1, s[0:1]", Kind.MEM),
        ("flat_store_dword v[0:1], v2", "ds_read_b32 v3, v4", Kind.MEM),
        ("ds_write_b32 v0, v1", "s_barrier", Kind.MEM),
        ("global_store_dword v0, v1, s[0:1]", "buffer_wbl2 sc1", Kind.MEM),
        ("s_setprio 1", "v_mov_b32_e32 v1, v0", Kind.ORDER),
        ("v_mov_b32_e32 v1, v0", "s_cbranch_scc1 L", Kind.ORDER),
        ("global_load_dword v1, v0, s[0:1]", "s_waitcnt vmcnt(0)", Kind.ORDER),
        ("s_waitcnt vmcnt(0)", "global_load_dword v1, v0, s[0:1]", Kind.ORDER),
    ],
)
def test_order_is_kept(first, second, kind):
    assert edges(first, second).get((0, 1)) is kind


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("v_mov_b32_e32 v1, v0", "v_mov_b32_e32 v2, v0"),
        ("ds_read_b32 v1, v0", "ds_read_b32 v2, v0"),
        ("ds_write_b32 v0, v1", "global_load_dword v2, v0, s[0:1]"),
        ("v_mov_b32_e32 v1, v0", "s_barrier"),
        ("s_add_u32 s0, s1, s2", "v_mov_b32_e32 v1, v0"),
    ],
)
def test_order_is_free(first, second):
    assert (0, 1) not in edges(first, second)


def test_a_wait_holds_back_only_what_may_be_pending():
    lines = ("global_load_dword v1, v0, s[0:1]", "s_waitcnt vmcnt(0)", "v_mov_b32_e32 v2, v1", "v_mov_b32_e32 v3, v4")
    found = edges(*lines, pending=0)
    assert (1, 2) in found
    assert (1, 3) not in found
    assert (1, 3) in edges(*lines)
