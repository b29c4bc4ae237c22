import pytest

from asmevo.frontend.assembly.expressions import ExpressionError, Scope
from asmevo.frontend.assembly.operands import PLACEHOLDER, has_symbols, mentions, rewrite, with_local_names

VALUES = {"x": 3, "offset": 2, "gds": 4, "hwreg": 0xF803, "MSG_GS": -1, "clamp": 1, "v": 1, "BYTE_0": 9}


def rewritten(text: str, *, takes_label: bool = False) -> str:
    return rewrite(text, Scope(VALUES.get), lambda name: f"L{name}", takes_label=takes_label, used=0).text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s_mov_b64 s[x-1:x], s[2*x:7]", "s_mov_b64 s[2:3], s[6:7]"),
        ("v_sub_f32 v0, -x, -v[0]", "v_sub_f32 v0, -3, -v[0]"),
        ("v_sin_f32 v0, -v", "v_sin_f32 v0, -1"),
        ("v_ceil_f32 v1, |x|", "v_ceil_f32 v1, |3|"),
        ("s_mov_b32 s0, gds", "s_mov_b32 s0, 4"),
        ("ds_gws_init v2 gds", "ds_gws_init v2 gds"),
        ("v_add_f32_e64 v0, v1, v2, clamp", "v_add_f32_e64 v0, v1, v2, clamp"),
        ("v_add_u32 v0, clamp+1, v2", "v_add_u32 v0, 2, v2"),
        ("s_branch 1+offset", "s_branch 3"),
        ("ds_read_b32 v0, v1 offset:offset+4", "ds_read_b32 v0, v1 offset:6"),
        ("s_setreg_b32 hwreg, s2", "s_setreg_b32 63491, s2"),
        ("s_setreg_b32 hwreg(x, offset), s2", "s_setreg_b32 hwreg(3, 2), s2"),
        ("s_sendmsg sendmsg(MSG_GS, x-2)", "s_sendmsg sendmsg(MSG_GS, 1)"),
        ("v_mov_b32_sdwa v1, v0 src0_sel:BYTE_0", "v_mov_b32_sdwa v1, v0 src0_sel:BYTE_0"),
        ("s_mov_b32 s0, lit(x)", "s_mov_b32 s0, x"),
        ("s_mov_b64 s[0:1], --4.0", "s_mov_b64 s[0:1], 4616189618054758400"),
        ("v_ceil_f32 v1, 1.0 + 1.0", "v_ceil_f32 v1, 1.0 4607182418800017408"),
    ],
)
def test_expressions_become_values_and_words_stay(text: str, shown: str) -> None:
    assert rewritten(text) == shown


def test_labels_are_left_to_branches() -> None:
    assert rewritten("s_branch target", takes_label=True) == "s_branch target"
    assert rewritten("s_branch 1f", takes_label=True) == "s_branch L1f"
    found = rewrite("s_mov_b32 s0, target - 4", Scope(VALUES.get), str, takes_label=False, used=2)
    assert found.text == f"s_mov_b32 s0, {PLACEHOLDER + 2:#x}"
    assert [item.text for item in found.deferred] == ["target - 4"]


@pytest.mark.parametrize("text", ["v_ceil_f32 v1, |1+x|", "v_ceil_f32 v1, |x+1|", "s_nop ?", "s_nop 08+1"])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        rewritten(text)


def test_what_may_hold_an_expression() -> None:
    assert mentions("s_nop x", VALUES.__contains__)
    assert mentions("s_nop 1+1", VALUES.__contains__)
    assert mentions("s_branch 1b", VALUES.__contains__)
    assert not mentions("v_add_f32 v0, v1, -v2 clamp", {}.__contains__)
    assert not has_symbols("s0, vcc_lo", {"s0", "vcc_lo"}.__contains__)
    assert with_local_names("1b-2f+x", str.upper) == "1B-2F+x"
