import pytest

from asmevo.frontend.assembly.spelling import spellings, with_inline_doubles


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("v_add_f32 v0 v1 v2", "v_add_f32 v0, v1, v2"),
        ("v_sub_f32 v0, v1 -v2", "v_sub_f32 v0, v1, -v2"),
        ("v_add_f32_e64 v0, v1, v2, clamp", "v_add_f32_e64 v0, v1, v2 clamp"),
        ("ds_read_b32 v0, v1 offset : 4", "ds_read_b32 v0, v1 offset:4"),
        ("ds_read_b32 v0, v1 nogds", "ds_read_b32 v0, v1"),
        ("tbuffer_load_format_x v0, off, s[0:3], dfmt:4, nfmt:2, 0", "tbuffer_load_format_x v0, off, s[0:3], 0 format:36"),
        ("s_getreg_b32 s0, {size: 3, id: 1}", "s_getreg_b32 s0, hwreg(1, 0, 3)"),
        ("s_getreg_b32 s0, {}", "s_getreg_b32 s0, hwreg(0, 0, 32)"),
        ("s_getreg_b32 s0, {nonsense: 1}", "s_getreg_b32 s0, {nonsense: 1}"),
        ("v_mov_b32_sdwa v1, v0 dst_sel:1 dst_unused:2", "v_mov_b32_sdwa v1, v0 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE"),
        ("v_mov_b32_sdwa v1, v0 dst_sel:7", "v_mov_b32_sdwa v1, v0 dst_sel:7"),
        ("v_smfmac_f32_16x16x32f16 v0", "v_smfmac_f32_16x16x32_f16 v0"),
        ("v_smfmac_f32_16x16x64bf8fp8 v0", "v_smfmac_f32_16x16x64_bf8_fp8 v0"),
    ],
)
def test_the_spelling_that_the_grammar_reads(text: str, shown: str) -> None:
    assert spellings(text) == (shown,)


@pytest.mark.parametrize("word", ["noclamp", "mul:1", "div:1"])
def test_a_modifier_that_says_nothing_asks_for_the_long_encoding(word: str) -> None:
    assert spellings(f"v_add_f32 v0, v1, v2 {word}") == ("v_add_f32_e64 v0, v1, v2", "v_add_f32 v0, v1, v2")
    assert spellings(f"v_add_f32_sdwa v0, v1, v2 {word}") == ("v_add_f32_sdwa v0, v1, v2",)
    assert spellings(f"v_add_f32 v0, v1, v2 {word} dst_sel:BYTE_0") == ("v_add_f32 v0, v1, v2 dst_sel:BYTE_0",)


def test_only_bits_of_inline_doubles_become_floats() -> None:
    assert with_inline_doubles("v_ceil_f64 v[0:1], 0x3ff0000000000000") == ("v_ceil_f64 v[0:1], 1.0", {"1.0"})
    assert with_inline_doubles("v_ceil_f64 v[0:1], -4616189618054758400")[0] == "v_ceil_f64 v[0:1], -1.0"
    assert with_inline_doubles("v_ceil_f64 v[0:1], 0x3ff0000000000001") == (
        "v_ceil_f64 v[0:1], 0x3ff0000000000001",
        frozenset(),
    )
