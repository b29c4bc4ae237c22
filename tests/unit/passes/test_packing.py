"""Which plain instructions make a pair, where it may stand, and what a packed one splits into."""

import pytest

from asmevo.frontend.parser import parse_line, parse_source
from asmevo.ir.printer import print_instruction
from asmevo.passes.packing import pairs_of, unpacked


def pairs(*lines):
    block = parse_source("\n".join(["k:", *lines, "s_endpgm"])).blocks[0]
    return [(p.first, p.second, p.place, print_instruction(p.packed)) for p in pairs_of(block, lambda index: -1)]


@pytest.mark.parametrize(
    ("lines", "packed"),
    [
        (("v_mul_f32_e32 v0, v2, v4", "v_mul_f32_e32 v1, v3, v5"), "v_pk_mul_f32 v[0:1], v[2:3], v[4:5]"),
        (("v_mul_f32_e32 v1, v3, v5", "v_mul_f32_e32 v0, v2, v4"), "v_pk_mul_f32 v[0:1], v[2:3], v[4:5]"),
        (("v_mul_f32_e32 v0, s2, v4", "v_mul_f32_e32 v1, s2, v5"), "v_pk_mul_f32 v[0:1], s[2:3], v[4:5] op_sel_hi:[0,1]"),
        (
            ("v_mul_f32_e32 v0, v3, v4", "v_mul_f32_e32 v1, v2, v4"),
            "v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,0]",
        ),
        (("v_add_f32_e64 v0, -v2, v4", "v_add_f32_e32 v1, v3, v5"), "v_pk_add_f32 v[0:1], v[2:3], v[4:5] neg_lo:[1,0]"),
        (("v_fma_f32 v0, v2, v4, v6", "v_fma_f32 v1, v3, v5, v7"), "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]"),
    ],
)
def test_neighbours_make_a_pair(lines, packed):
    assert pairs(*lines) == [(0, 1, 0, packed)]


@pytest.mark.parametrize(
    "lines",
    [
        ("v_mul_f32_e32 v1, v2, v4", "v_mul_f32_e32 v2, v3, v5"),
        ("v_mul_f32_e32 v0, v2, v4", "v_mul_f32_e32 v1, v4, v5"),
        ("v_mul_f32_e32 v0, v2, v4", "v_mul_f32_e32 v1, v0, v4"),
        ("v_mul_f32_e32 v0, 2.0, v4", "v_mul_f32_e32 v1, 2.0, v5"),
        ("v_mul_f32_e64 v0, |v2|, v4", "v_mul_f32_e64 v1, |v3|, v5"),
        ("v_mul_f32_e64 v0, v2, v4 clamp", "v_mul_f32_e64 v1, v3, v5 clamp"),
        ("v_mul_f32_e32 v0, v2, v4", "v_add_f32_e32 v1, v3, v5"),
        ("v_mul_f32_e32 v0, v2, v4", "s_mov_b64 exec, s[2:3]", "v_mul_f32_e32 v1, v3, v5"),
        ("v_mul_f32_e32 v0, v2, v4", "v_mov_b32_e32 v3, v0", "v_mul_f32_e32 v1, v3, v5"),
        ("v_fma_f32 v0, s2, s4, v6", "v_fma_f32 v1, s3, s5, v7"),
    ],
)
def test_these_are_no_pair(lines):
    assert pairs(*lines) == []


def test_behind_a_wait_a_pair_stands_at_its_second_place():
    lines = ("v_mul_f32_e32 v0, v2, v4", "s_waitcnt vmcnt(0)", "v_mul_f32_e32 v1, v3, v5")
    assert [found[:3] for found in pairs(*lines)] == [(0, 2, 2)]


def test_half_of_a_pair_that_holds_nothing_is_not_read():
    block = parse_source("k:\nv_mul_f32_e32 v0, v3, v4\nv_mul_f32_e32 v1, v3, v5\ns_endpgm").blocks[0]
    assert list(pairs_of(block, lambda index: 0)) == []


def test_pairs_that_cross_are_joined_on_the_same_side_only():
    """The first pair can stand at its second place, the other at its first; then v7 would be overwritten before it is read."""
    text = """
    k:
      v_mul_f32_e32 v0, v7, v4
      s_waitcnt vmcnt(0)
      v_mul_f32_e32 v6, v8, v10
      v_mul_f32_e32 v1, v6, v5
      v_mul_f32_e32 v7, v9, v11
      s_cbranch_scc1 k
    end:
      s_endpgm
    """
    kernel = parse_source(text)
    assert [(found.first, found.place) for found in pairs_of(kernel.blocks[0], lambda index: -1)] == [(0, 3)]


@pytest.mark.parametrize(
    ("text", "halves"),
    [
        ("v_pk_mul_f32 v[0:1], v[2:3], v[4:5]", ["v_mul_f32_e32 v0, v2, v4", "v_mul_f32_e32 v1, v3, v5"]),
        ("v_pk_mul_f32 v[2:3], v[2:3], v[4:5] op_sel_hi:[0,1]", ["v_mul_f32_e32 v3, v2, v5", "v_mul_f32_e32 v2, v2, v4"]),
        ("v_pk_add_f32 v[0:1], v[2:3], v[4:5] neg_hi:[1,0]", ["v_add_f32_e32 v0, v2, v4", "v_add_f32_e64 v1, -v3, v5"]),
        ("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[0:1]", ["v_fmac_f32_e32 v0, v2, v4", "v_fmac_f32_e32 v1, v3, v5"]),
    ],
)
def test_a_packed_instruction_splits_into_its_halves(text, halves):
    found = unpacked(parse_line(text))
    assert found is not None
    assert [print_instruction(i) for i in found] == halves


@pytest.mark.parametrize(
    "text",
    [
        "v_pk_mul_f32 v[2:3], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,1]",
        "v_pk_mul_f32 v[0:1], v[2:3], 2.0",
        "v_pk_mul_f32 v[0:1], v[2:3], v[4:5] clamp",
        "v_pk_mov_b32 v[0:1], v[2:3], v[4:5]",
        "v_mul_f32_e32 v0, v2, v4",
    ],
)
def test_these_stay_as_they_are(text):
    assert unpacked(parse_line(text)) is None
