"""Rules are learned from short changes, match only what they were learned from, and survive a file."""

import json

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.parser import parse_source
from asmevo.search.rule_files import read_rules
from asmevo.search.rules import Rule, learned, matches

BEFORE = """
k:
  v_mov_b32_e32 v9, v1
  v_mul_f32_e32 v4, v1, v1
  v_add_f32_e32 v4, v4, v2
  v_mov_b32_e32 v8, v4
  s_endpgm
"""
AFTER = BEFORE.replace("  v_mul_f32_e32 v4, v1, v1\n  v_add_f32_e32 v4, v4, v2\n", "  v_fma_f32 v4, v1, v1, v2\n")
FUSED = Rule(
    (
        "v_mov_b32_e32 {v0}, {v1}",
        "v_mul_f32_e32 {v2}, {v1}, {v1}",
        "v_add_f32_e32 {v2}, {v2}, {v3}",
        "v_mov_b32_e32 {v4}, {v2}",
    ),
    ("v_mov_b32_e32 {v0}, {v1}", "v_fma_f32 {v2}, {v1}, {v1}, {v3}", "v_mov_b32_e32 {v4}, {v2}"),
)


def found(rule, source):
    block = parse_source(source).block("k")
    return [(place, texts) for place, texts in matches(rule, block, 0, len(block.instructions))]


def test_a_short_change_becomes_a_rule():
    assert learned(parse_source(BEFORE), parse_source(AFTER)) == (FUSED,)


def test_it_matches_with_other_registers_and_not_with_others_shared():
    other = BEFORE.replace("v4", "v40").replace("v2\n", "v20\n")
    assert found(FUSED, other) == [(0, ["v_mov_b32_e32 v9, v1", "v_fma_f32 v40, v1, v1, v20", "v_mov_b32_e32 v8, v40"])]
    assert found(FUSED, BEFORE.replace("v4, v1, v1", "v4, v1, v2")) == []
    assert found(FUSED, BEFORE.replace("v9", "v4")) == []


def test_what_only_moved_teaches_nothing():
    moved = BEFORE.replace("  v_mov_b32_e32 v9, v1\n", "").replace("  s_endpgm", "  v_mov_b32_e32 v9, v1\n  s_endpgm")
    assert learned(parse_source(BEFORE), parse_source(moved)) == ()


def test_registers_that_overlap_in_part_make_no_rule():
    wide = BEFORE.replace("v_mov_b32_e32 v9, v1", "v_mov_b64_e32 v[8:9], v[0:1]")
    assert learned(parse_source(wide), parse_source(wide.replace("v_mul_f32_e32 v4, v1, v1", "v_mul_f32_e32 v4, v1, v2"))) == ()


def test_data_and_back():
    assert Rule.from_data(json.loads(json.dumps(FUSED.to_data()))) == FUSED


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": 2, "rules": []}',
        '{"version": 1, "rules": {}}',
        '{"version": 1, "rules": [{}]}',
        '{"version": 1, "rules": [{"before": [], "after": []}]}',
        '{"version": 1, "rules": [{"before": ["s_nop 0"], "after": [1]}]}',
        '{"version": 1, "rules": [{"before": ["s_nop 0"], "after": ["' + "x" * 999 + '"]}]}',
        "[" * 100_000,
    ],
)
def test_files_that_are_none(tmp_path, text):
    path = tmp_path / "rules.json"
    path.write_text(text)
    with pytest.raises(DiagnosticError) as caught:
        read_rules(path)
    assert caught.value.diagnostics[0].code == "E0806"
